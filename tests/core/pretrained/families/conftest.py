"""Models that transformers makes, with random weights, and ours with the same."""

from __future__ import annotations

import warnings

import attrs
import pytest
import torch

from limite.core.kernels.layout import Layout
from limite.core.model.init import build_decoder
from limite.core.pretrained.directory import file_name
from limite.core.pretrained.families.llama import spec_from_config

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import transformers

SIZES = {
    "vocab_size": 61,
    "hidden_size": 48,
    "num_hidden_layers": 3,
    "intermediate_size": 80,
    "num_attention_heads": 4,
    "max_position_embeddings": 96,
    "rms_norm_eps": 1e-5,
}
WINDOW = 5  # fewer tokens than rows have
ROPE = {
    "default": {"rope_type": "default", "rope_theta": 500.0},
    "linear": {"rope_type": "linear", "rope_theta": 10_000.0, "factor": 3.0},
    "llama3": {
        "rope_type": "llama3",
        "rope_theta": 1000.0,
        "factor": 8.0,
        "low_freq_factor": 1.0,
        "high_freq_factor": 4.0,
        "original_max_position_embeddings": 32,
    },
    "yarn": {
        "rope_type": "yarn",
        "rope_theta": 5000.0,
        "factor": 4.0,
        "original_max_position_embeddings": 24,
    },
}
NAMES = ("Llama", "Qwen2", "Qwen3", "Mistral")


@attrs.frozen(kw_only=True)
class Kind:
    """One way to fill in a configuration."""

    name: str = "Llama"
    rope: str = "default"
    tied: bool = False
    windows: str = "none"  # "some" or "all" layers have one
    kv_heads: int = 2
    head_dim: int = 12
    bias: bool = False

    def __str__(self):
        groups = f"{self.kv_heads} of 4"
        parts = [self.name, self.rope, "tied" if self.tied else "untied", groups]
        if self.windows != "none":
            parts.append(f"{self.windows} windows")
        return "-".join(parts)

    @property
    def settings(self):
        found = {
            **SIZES,
            "num_key_value_heads": self.kv_heads,
            "head_dim": self.head_dim,
            "tie_word_embeddings": self.tied,
            "rope_parameters": dict(ROPE[self.rope]),
        }
        if self.name in ("Llama", "Qwen3"):
            found["attention_bias"] = self.bias
        if self.name == "Llama":
            found["mlp_bias"] = self.bias
        if self.name == "Mistral":
            found["sliding_window"] = WINDOW if self.windows == "all" else None
        elif self.windows != "none":
            found |= {"use_sliding_window": True, "sliding_window": WINDOW}
            found["max_window_layers"] = 0 if self.windows == "all" else 2
        return found


@attrs.frozen
class Pair:
    """A model of theirs and a decoder of ours with the same weights."""

    theirs: torch.nn.Module
    ours: torch.nn.Module
    config: dict

    def rows(self, lengths, seed=0):
        """Random rows of tokens."""
        stream = torch.Generator().manual_seed(seed)
        vocabulary = self.config["vocab_size"]
        return [torch.randint(vocabulary, (length,), generator=stream) for length in lengths]

    def reference(self, rows):
        """Their logits of whole rows, one after the other: ``[N, V]``."""
        return torch.cat([self.theirs(row[None]).logits[0] for row in rows])

    def hidden(self, rows):
        layout = Layout.from_lengths([len(row) for row in rows])
        return self.ours(torch.cat(rows), layout)


def written(config):
    """The ``config.json`` that transformers writes."""
    config.architectures = [type(config).__name__.removesuffix("Config") + "ForCausalLM"]
    return config.to_diff_dict()


def load(decoder, tensors):
    """Gives a decoder the tensors of a file."""
    given = dict(tensors)
    if decoder.spec.tied_head:
        given.pop("lm_head.weight", None)
    parameters = {file_name(name): value for name, value in decoder.named_parameters()}
    assert parameters.keys() == given.keys()
    with torch.no_grad():
        for name, value in given.items():
            assert parameters[name].shape == value.shape
            parameters[name].copy_(value)


def make(kind, dtype=torch.float32, seed=1, **changes):
    """A pair whose biases and norms count."""
    config = getattr(transformers, f"{kind.name}Config")(**kind.settings | changes)
    config._attn_implementation = "sdpa"
    theirs = getattr(transformers, f"{kind.name}ForCausalLM")(config).eval().to(dtype)
    stream = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, parameter in theirs.named_parameters():
            drawn = torch.randn(parameter.shape, generator=stream)
            if name.endswith("norm.weight"):
                drawn = 1 + 0.4 * drawn
            elif parameter.dim() == 2 and "embed" not in name:
                drawn = drawn * 1.5 * parameter.shape[1] ** -0.5
            parameter.copy_(drawn)
    plain = written(config)
    ours = build_decoder(spec_from_config(plain), dtype=dtype)
    load(ours, theirs.state_dict())
    return Pair(theirs, ours, plain)


@pytest.fixture(scope="session")
def pair():
    """``pair(kind, dtype)``, made once."""
    made = {}

    def get(kind, dtype=torch.float32):
        if (kind, dtype) not in made:
            made[kind, dtype] = make(kind, dtype)
        return made[kind, dtype]

    return get
