"""A decoder held to numbers that another implementation found.

A golden file is a JSON with ``config``, ``tolerances`` and ``cached_chunk_schedule``, and a
safetensors file of the same name beside it: ``model.*`` are the weights, ``golden.*`` inputs and
expectations.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs
import torch
from torch import Tensor

from limite.core.errors import LimiteError, Mistake, SettingsError
from limite.core.kernels.layout import Layout
from limite.core.model.decoder import Decoder
from limite.core.model.init import build_decoder
from limite.core.pretrained.directory import load_checkpoint
from limite.core.pretrained.families.limite import spec_from_config
from limite.core.pretrained.json_files import is_id, read_object
from limite.core.pretrained.tensor_directory import TensorDirectory
from limite.core.pretrained.tensor_file import TensorFile

TOLERANCES = (
    "logits_fp32_max_abs",
    "logits_fp32_median_abs",
    "residual_states_fp32_max_abs",
    "cached_decode_vs_prefill_fp32_max_abs",
    "bf16_run_mean_abs",
)
NUMBER = "golden."
NUMBERS = (
    "input_ids",
    "logits",
    "final_hidden",
    "residual_states",
    "attn_inputs",
    "next_token_logprob",
    "logits_bf16_run",
    "greedy_prompt",
    "greedy_tokens",
)


@attrs.frozen(kw_only=True)
class Difference:
    """One comparison: how far off (or how many tokens differ), and how far it may be."""

    run: str
    what: str
    found: float
    limit: float

    @property
    def passed(self) -> bool:
        """Whether it is within its tolerance; NaN is not."""
        return self.found <= self.limit


@attrs.frozen(kw_only=True, eq=False)
class Golden:
    """A golden file, read and complete."""

    config: Mapping[str, Any]
    tolerances: Mapping[str, float]
    chunks: Sequence[int]
    weights: TensorDirectory
    numbers: Mapping[str, Tensor]

    @classmethod
    def read(cls, path: str | Path) -> Golden:
        """Reads ``path`` and the tensors beside it; all that is missing is told at once."""
        path = Path(path)
        about = read_object(path)
        if about is None:
            raise LimiteError(f"{path}: there is no such file")
        beside = path.with_suffix(".safetensors")
        file = TensorFile.open(beside)
        numbers = {
            name: file.read(NUMBER + name) for name in NUMBERS if NUMBER + name in file.entries
        }
        wrong = [Mistake(why, field, str(path)) for field, why in _wrong_settings(about)]
        wrong += [
            Mistake("missing", f"golden.{name}", str(beside))
            for name in NUMBERS
            if name not in numbers
        ]
        if not wrong:
            wrong = [
                Mistake(why, f"golden.{name}", str(beside))
                for name, why in _wrong_shapes(numbers, about["cached_chunk_schedule"])
            ]
        if wrong:
            raise SettingsError(wrong)
        return cls(
            config=about["config"],
            tolerances=about["tolerances"],
            chunks=about["cached_chunk_schedule"],
            weights=TensorDirectory.of_file(file, "model."),
            numbers=numbers,
        )

    def compare(self) -> list[Difference]:
        """Every comparison, in float32, float64 and bfloat16."""
        spec = spec_from_config(self.config)
        assert spec.padded_vocabulary is not None
        for name in ("input_ids", "greedy_prompt"):
            least, most = self.numbers[name].min().item(), self.numbers[name].max().item()
            if least < 0 or most >= spec.padded_vocabulary:
                raise LimiteError(
                    f"golden.{name}: expected ids from 0 to {spec.padded_vocabulary - 1}, the rows "
                    f"of the token table, got {least} to {most}"
                )
        found: list[Difference] = []
        for dtype in (torch.float32, torch.float64, torch.bfloat16):
            decoder = build_decoder(spec, dtype=dtype).eval()
            load_checkpoint(decoder, self.weights)
            with torch.no_grad():
                half = dtype.itemsize < 4
                found += self._half(decoder) if half else self._full(decoder)
        return found

    def _half(self, decoder: Decoder) -> Iterator[Difference]:
        ids = self.numbers["input_ids"]
        logits = decoder.logits(decoder(ids.flatten(), _rows(ids)))
        far = _far(logits, self.numbers["logits_bf16_run"])
        yield self._row(decoder, "logits, mean", far.mean(), "bf16_run_mean_abs")

    def _full(self, decoder: Decoder) -> Iterator[Difference]:
        numbers, ids = self.numbers, self.numbers["input_ids"]
        layout = _rows(ids)
        hidden = decoder(ids.flatten(), layout)
        streams, inputs = decoder.watch(ids.flatten(), layout)
        states = "residual_states_fp32_max_abs"
        for what, found, expected in (
            ("streams after every layer", torch.stack(streams), numbers["residual_states"]),
            ("attention inputs", torch.stack(inputs), numbers["attn_inputs"]),
            ("final hidden states", hidden, numbers["final_hidden"]),
        ):
            yield self._row(decoder, what, _far(found, expected).max(), states)
        far = _far(decoder.logits(hidden), numbers["logits"])
        yield self._row(decoder, "logits", far.max(), "logits_fp32_max_abs")
        yield self._row(decoder, "logits, median", far.median(), "logits_fp32_median_abs")
        before = hidden.view(*ids.shape, -1)[:, :-1].flatten(0, 1)
        logp, _ = decoder.log_probabilities(before, ids[:, 1:].flatten())
        far = _far(logp, numbers["next_token_logprob"])
        yield self._row(decoder, "log-probabilities", far.max(), "logits_fp32_max_abs")
        far = _far(self._cached(decoder), numbers["logits"])
        cached = "cached_decode_vs_prefill_fp32_max_abs"
        yield self._row(decoder, "logits, cached in chunks", far.max(), cached)
        wrong = (self._greedy(decoder) != numbers["greedy_tokens"]).sum()
        name = _name(decoder)
        yield Difference(run=name, what="greedy tokens that differ", found=int(wrong), limit=0)

    def _row(self, decoder: Decoder, what: str, found: Tensor, tolerance: str) -> Difference:
        limit = float(self.tolerances[tolerance])
        return Difference(run=_name(decoder), what=what, found=found.item(), limit=limit)

    def _cached(self, decoder: Decoder) -> Tensor:
        """Logits ``[R, T, V]``, tokens fed as the schedule of chunks says."""
        ids = self.numbers["input_ids"]
        rows, length = ids.shape
        cache, parts = decoder.new_cache(rows, length), []
        for chunk in ids.split(list(self.chunks), dim=1):
            flat = chunk.flatten()
            one = chunk.shape[1] == 1
            hidden = decoder.step(flat, cache) if one else decoder.extend(flat, _rows(chunk), cache)
            parts.append(decoder.logits(hidden).view(*chunk.shape, -1))
        return torch.cat(parts, dim=1)

    def _greedy(self, decoder: Decoder) -> Tensor:
        """The most likely continuation ``[R, steps]`` among ids that mean something."""
        prompt, steps = self.numbers["greedy_prompt"], self.numbers["greedy_tokens"].shape[1]
        cache = decoder.new_cache(len(prompt), prompt.shape[1] + steps)
        hidden = decoder.extend(prompt.flatten(), _rows(prompt), cache)
        hidden = hidden.view(*prompt.shape, -1)[:, -1]
        tokens: list[Tensor] = []
        for _ in range(steps):
            tokens.append(decoder.logits(hidden)[:, : decoder.vocabulary].argmax(-1))
            hidden = decoder.step(tokens[-1], cache)
        return torch.stack(tokens, dim=1)


def _rows(ids: Tensor) -> Layout:
    return Layout.from_lengths([ids.shape[1]] * ids.shape[0])


def _far(found: Tensor, expected: Tensor) -> Tensor:
    if found.numel() != expected.numel():
        raise LimiteError(
            f"the decoder gives {found.numel()} numbers where the golden file has "
            f"{expected.numel()}, of shape {list(expected.shape)}"
        )
    return (found.reshape(expected.shape).double() - expected.double()).abs()


def _name(decoder: Decoder) -> str:
    return str(decoder.dtype).removeprefix("torch.")


def _wrong_settings(about: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    if not isinstance(about.get("config"), dict):
        yield "config", f"expected a model's configuration, got {about.get('config')!r}"
    tolerances = about.get("tolerances")
    if not isinstance(tolerances, dict):
        yield "tolerances", f"expected an object of numbers, got {tolerances!r}"
    else:
        for name in TOLERANCES:
            value = tolerances.get(name)
            if not isinstance(value, (int, float)) or isinstance(value, bool) or not value >= 0:
                yield f"tolerances.{name}", f"expected a number of at least 0, got {value!r}"
    chunks = about.get("cached_chunk_schedule")
    if not isinstance(chunks, list) or not all(is_id(size) and size > 0 for size in chunks):
        yield "cached_chunk_schedule", f"expected a list of chunk lengths, got {chunks!r}"


def _wrong_shapes(numbers: Mapping[str, Tensor], chunks: list[int]) -> Iterator[tuple[str, str]]:
    """What does not fit the inputs; the model's own sizes are held to by the comparison."""
    ids = numbers["input_ids"]
    for name in ("input_ids", "greedy_prompt", "greedy_tokens"):
        value = numbers[name]
        if value.dim() != 2 or value.dtype != torch.int64 or not value.numel():
            shown = f"{value.dtype} {list(value.shape)}"
            yield name, f"expected int64 [rows, tokens], not empty, got {shown}"
            return
    if sum(chunks) != ids.shape[1]:
        yield "input_ids", f"cached_chunk_schedule adds up to {sum(chunks)}, not {ids.shape[1]}"
    if len(numbers["greedy_prompt"]) != len(numbers["greedy_tokens"]):
        yield "greedy_tokens", "expected as many rows as golden.greedy_prompt"
    rows, tokens = ids.shape
    for name, at, wanted in (
        ("logits", 0, [rows, tokens]),
        ("final_hidden", 0, [rows, tokens]),
        ("residual_states", 1, [rows, tokens]),
        ("attn_inputs", 1, [rows, tokens]),
        ("logits_bf16_run", 0, [rows, tokens]),
        ("next_token_logprob", 0, [rows, tokens - 1]),
    ):
        shape = list(numbers[name].shape)
        if shape[at : at + 2] != wanted:
            yield name, f"expected {wanted} for rows and tokens, got shape {shape}"
