"""Soups of model directories: averaged, refused with what differs, and never more than asked."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import attrs
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.torch import load_file, save_file
from transformers import AutoModelForCausalLM

from limite.core.errors import LimiteError, SettingsError
from limite.core.kernels.layout import Layout
from limite.core.model.decoder import Decoder
from limite.core.model.init import build_decoder
from limite.core.model.llama.spec import LlamaSpec
from limite.core.model.presets import preset
from limite.core.pretrained.average import average, uniform
from limite.core.pretrained.directory import ModelDirectory
from limite.core.pretrained.export import directory_source
from limite.core.pretrained.save import save_pretrained
from limite.core.pretrained.soup import RECEIPT, Soup
from tests.core.pretrained.test_memory import BEFORE, measured
from tests.core.pretrained.words import CHATML, byte_level, write_words

SPEC = LlamaSpec(
    width=16, layers=2, heads=2, kv_heads=1, head_width=8, mlp_width=24, context=64,
    vocabulary=370,
)  # fmt: skip

Make = Callable[..., Path]


@pytest.fixture
def make(tmp_path: Path) -> Make:
    """``make(name, seed)`` writes a model of random weights with a tokenizer."""

    def written(name: str, seed: int, spec=SPEC, dtype=torch.float32, **words) -> Path:
        decoder = build_decoder(spec.filled(), seed, dtype=dtype)
        save_pretrained(decoder, tmp_path / name)
        words = {"template": CHATML, "generation": {"eos_token_id": 0}} | words
        return write_words(tmp_path / name, **words)

    return written


def soup_of(*paths: Path) -> Soup:
    return Soup.of([(path.name, directory_source(path)) for path in paths])


def tensors(path: Path) -> dict[str, torch.Tensor]:
    found: dict[str, torch.Tensor] = {}
    for file in path.glob("*.safetensors"):
        found |= load_file(file)
    return found


def edit(path: Path, **fields) -> None:
    data = json.loads(path.read_text()) | fields
    path.write_text(json.dumps({key: value for key, value in data.items() if value is not None}))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float64], ids=str)
@pytest.mark.parametrize("spec", [SPEC, preset("limite-tiny")], ids=["llama", "limite"])
def test_every_tensor_is_the_average(spec, dtype, make, tmp_path):
    spec = attrs.evolve(spec, vocabulary=370)
    paths = [make(f"m{seed}", seed, spec, dtype) for seed in range(3)]
    weights = (0.5, 0.3, 0.2)
    done = soup_of(*paths).write(tmp_path / "out", weights, shard_bytes=10_000)
    found, held = tensors(tmp_path / "out"), [tensors(path) for path in paths]
    assert found.keys() == held[0].keys()
    assert len(list((tmp_path / "out").glob("*.safetensors"))) > 1
    for name, tensor in found.items():
        assert tensor.dtype == held[0][name].dtype
        terms = [each[name].double() * weight for each, weight in zip(held, weights, strict=True)]
        exact, size = torch.stack(terms).sum(0), torch.stack(terms).abs().sum(0)
        # Half a last bit of the dtype, and what float64 loses where the order of a sum is another.
        allowed = exact.abs() * torch.finfo(tensor.dtype).eps / 2 + size * 2**-50
        assert ((tensor.double() - exact).abs() <= allowed).all(), name
    for name in ("config.json", "tokenizer.json", "generation_config.json", "chat_template.jinja"):
        mine, theirs = ((path / name).read_text() for path in (tmp_path / "out", paths[0]))
        assert json.loads(mine) == json.loads(theirs) if name.endswith("json") else mine == theirs
    assert done.parameters == sum(each.numel() for each in found.values())
    decoder = soup_of(*paths).decoder(weights, dtype=dtype)
    loaded = ModelDirectory.open(tmp_path / "out").load()
    for name, parameter in decoder.named_parameters():
        assert torch.equal(parameter, loaded.get_parameter(name)), name


def test_transformers_reads_it(make, tmp_path):
    soup_of(make("a", 1), make("b", 2)).write(tmp_path / "out", uniform(2))
    theirs = AutoModelForCausalLM.from_pretrained(tmp_path / "out")
    ids = torch.arange(20) * 7 % 370
    mine: Decoder = ModelDirectory.open(tmp_path / "out").load()
    with torch.no_grad():
        expected = theirs(ids[None]).logits[0]
        found = mine.logits(mine(ids, Layout.from_lengths([20])))
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("count", [1, 3])
def test_equal_models_give_themselves_bit_for_bit(count, make, tmp_path):
    path = make("a", 1, dtype=torch.bfloat16)
    soup_of(*[path] * count).write(tmp_path / "out", uniform(count))
    for name in ("model.safetensors", "tokenizer.json", "generation_config.json"):
        assert (tmp_path / "out" / name).read_bytes() == (path / name).read_bytes(), name


@settings(max_examples=6)
@given(order=st.permutations(range(4)), weights=st.sampled_from([uniform(4), (0.1, 0.2, 0.3, 0.4)]))
def test_the_order_of_models_changes_nothing(order, weights, tmp_path_factory):
    folder = tmp_path_factory.mktemp("soup")
    paths = [folder / f"m{seed}" for seed in range(4)]
    for seed, path in enumerate(paths):
        save_pretrained(build_decoder(SPEC.filled(), seed, dtype=torch.float64), path)
    soup_of(*paths).write(folder / "out", weights)
    chosen = [paths[each] for each in order]
    soup_of(*chosen).write(folder / "again", [weights[each] for each in order])
    wrote = [(folder / name / "model.safetensors").read_bytes() for name in ("out", "again")]
    assert wrote[0] == wrote[1]
    shutil.rmtree(folder)


def test_a_dtype_is_rounded_to_once(make, tmp_path):
    paths = [make("a", 1), make("b", 2)]
    done = soup_of(*paths).write(tmp_path / "out", uniform(2), dtype="bfloat16")
    assert done.dtype == json.loads((tmp_path / "out" / "config.json").read_text())["torch_dtype"]
    mine, theirs = tensors(paths[0]), tensors(paths[1])
    for name, tensor in tensors(tmp_path / "out").items():
        assert tensor.dtype == torch.bfloat16
        assert torch.equal(tensor, average([mine[name], theirs[name]], (0.5, 0.5), torch.bfloat16))


@pytest.mark.parametrize("copies", [(True, False), (False, True), (True, True)])
def test_a_tied_head_stays_tied(copies, make, tmp_path):
    spec = attrs.evolve(SPEC, tied_head=True)
    paths = [make("a", 1, spec), make("b", 2, spec)]
    for path, copy in zip(paths, copies, strict=True):
        if copy:  # as some programs write it
            held = tensors(path)
            held["lm_head.weight"] = held["model.embed_tokens.weight"].clone()
            save_file(held, path / "model.safetensors", {"format": "pt"})
    soup_of(*paths).write(tmp_path / "out", uniform(2))
    assert "lm_head.weight" not in tensors(tmp_path / "out")
    assert json.loads((tmp_path / "out" / "config.json").read_text())["tie_word_embeddings"] is True
    theirs = AutoModelForCausalLM.from_pretrained(tmp_path / "out")
    assert theirs.lm_head.weight is theirs.model.embed_tokens.weight


def test_the_receipt_says_what_it_is_of(make, tmp_path):
    paths = [make("a", 1), make("b", 2)]
    soup_of(*paths).write(tmp_path / "out", (0.25, 0.75), record={"method": "weighted"})
    receipt = json.loads((tmp_path / "out" / RECEIPT).read_text())
    assert receipt["method"] == "weighted"
    assert [(each["name"], each["weight"]) for each in receipt["models"]] == [
        ("a", 0.25),
        ("b", 0.75),
    ]
    for path, model in zip(paths, receipt["models"], strict=True):
        assert model["sha256"] == {
            "model.safetensors": ModelDirectory.open(path).hashes()["model.safetensors"]
        }
    # A soup is a model like any other.
    soup_of(tmp_path / "out", paths[0]).write(tmp_path / "more", uniform(2))
    assert json.loads((tmp_path / "more" / RECEIPT).read_text())["models"][0]["name"] == "out"


def test_another_architecture_is_told_by_field_and_tensor(make):
    one, other = make("a", 1), make("b", 2, attrs.evolve(SPEC, layers=3, mlp_width=32))
    with pytest.raises(SettingsError) as caught:
        soup_of(one, other)
    config, sizes, lacking, *more = str(caught.value).splitlines()
    assert config == (
        "config.json: a and b differ in 2: intermediate_size (24 and 32), num_hidden_layers (2 and "
        "3)"
    )
    assert lacking.startswith("tensors: b has 9 that a lacks: model.layers.2.")
    assert lacking.endswith(", and 3 more")
    assert sizes.startswith("tensors: a and b differ in 6: ")
    assert "model.layers.0.mlp.gate_proj.weight (float32 [24, 16] and float32 [32, 16])" in sizes
    assert not more


def test_another_family_and_a_model_that_differs_in_one_number(make):
    with pytest.raises(
        SettingsError, match=r"^config\.json: model_type: a has 'llama', b has 'limite'$"
    ):
        soup_of(make("a", 1), make("b", 2, attrs.evolve(preset("limite-tiny"), vocabulary=370)))
    one = make("c", 1)
    edit(one / "config.json", rms_norm_eps=1e-4)
    with pytest.raises(
        SettingsError, match=r"^config\.json: rms_norm_eps: a has 1e-0[56], c has 0\.0001$"
    ):
        soup_of(one.parent / "a", one)


def test_other_dtypes_are_told_by_tensor(make):
    with pytest.raises(SettingsError) as caught:
        soup_of(make("a", 1), make("b", 2, dtype=torch.bfloat16))
    assert str(caught.value).startswith(
        "tensors: a and b differ in 20: model.embed_tokens.weight (float32 [370, 16] and bfloat16 "
        "[370, 16]), "
    )
    assert len(str(caught.value).splitlines()) == 1


def test_another_tokenizer_is_told_by_place(make):
    words = byte_level()
    words.add_tokens(["<more>"])
    one = make("a", 1)
    with pytest.raises(SettingsError) as caught:
        soup_of(one, make("b", 2, tokenizer=words))
    assert "tokenizer.json: added_tokens: a has a list of 5, b has a list of 6" in str(caught.value)
    with pytest.raises(SettingsError, match=r"^chat_template.jinja: a has one of .* bytes, c has"):
        soup_of(one, make("c", 2, template=CHATML + " "))
    with pytest.raises(
        SettingsError, match=r"generation_config.json: eos_token_id: a has 0, d has 1"
    ):
        soup_of(one, make("d", 2, generation={"eos_token_id": 1}))
    bare = make("e", 2)
    (bare / "generation_config.json").unlink()
    with pytest.raises(SettingsError, match=r"^generation_config.json: a has one, e has none$"):
        soup_of(one, bare)


def test_what_changes_no_number_is_a_note_or_nothing(make):
    one, other = make("a", 1), make("b", 2)
    (other / "tokenizer.json").write_text(
        json.dumps(json.loads((other / "tokenizer.json").read_text()), indent=1)
    )
    edit(other / "config.json", transformers_version="5.0", bos_token_id=3)
    edit(other / "generation_config.json", transformers_version="5.0")
    made = soup_of(one, other)
    assert made.notes() == ["config.json: bos_token_id: a has nothing, b has 3; the first is taken"]


@pytest.mark.parametrize("wrong", [float("nan"), float("inf")])
def test_what_is_no_number_is_refused_and_nothing_is_left(wrong, make, tmp_path):
    one, other = make("a", 1), make("b", 2)
    held = tensors(other)
    held["model.layers.1.mlp.up_proj.weight"][3, 4] = wrong
    save_file(held, other / "model.safetensors", {"format": "pt"})
    before = sorted(tmp_path.iterdir())
    with pytest.raises(LimiteError, match=r"^b: model\.layers\.1\.mlp\.up_proj\.weight: holds NaN"):
        soup_of(one, other).write(tmp_path / "out", uniform(2))
    assert sorted(tmp_path.iterdir()) == before


def test_a_number_too_large_for_the_dtype_is_refused(make, tmp_path):
    one = make("a", 1)
    held = tensors(one)
    held["model.norm.weight"][3] = 1e6
    save_file(held, one / "model.safetensors", {"format": "pt"})
    with pytest.raises(LimiteError, match=r"model\.norm\.weight: .* torch.float16 can hold"):
        soup_of(one).write(tmp_path / "out", uniform(1), dtype="float16")


def test_an_existing_name_is_refused(make, tmp_path):
    one = make("a", 1)
    (tmp_path / "out").mkdir()
    with pytest.raises(LimiteError, match="exists and is not overwritten"):
        soup_of(one).write(tmp_path / "out", uniform(1))
    assert not list((tmp_path / "out").iterdir())


def test_memory_does_not_grow_with_the_number_of_models(tmp_path):
    code = """
        from limite.core.model.init import build_decoder
        from limite.core.model.llama.spec import LlamaSpec
        from limite.core.pretrained.average import uniform
        from limite.core.pretrained.export import directory_source
        from limite.core.pretrained.save import save_pretrained
        from limite.core.pretrained.soup import Soup

        spec = LlamaSpec(
            width=256, layers=5, heads=4, kv_heads=2, head_width=64, mlp_width=1024, context=64,
            vocabulary=32768,
        )
    """
    measured(
        tmp_path,
        BEFORE,
        code,
        """
        save_pretrained(build_decoder(spec.filled(), 1), here / "m")
        """,
    )
    size = (tmp_path / "m" / "model.safetensors").stat().st_size
    table = 32768 * 256 * 4
    two, eight = (
        measured(
            tmp_path,
            BEFORE,
            code,
            f"""
            made = Soup.of([("m", directory_source(here / "m"))] * {count})
            warm = torch.zeros(1 << 20).double().add_(1.0).float()
            before = peak_bytes()
            made.write(here / "out{count}", uniform({count}))
            print(peak_bytes() - before)
            """,
        )[0]
        for count in (2, 8)
    )
    # One tensor, and little beside it: not the models, of which each alone is larger.
    assert table < 0.7 * size
    for peak in (two, eight):
        assert 0.5 * table < peak < 2 * table
    assert eight < two + table / 2
