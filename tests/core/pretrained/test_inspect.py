"""A look at a model: counts held to counts by hand, and every disagreement told."""

from __future__ import annotations

import json
import re
import shutil
import sys
from pathlib import Path
from typing import Any

import attrs
import pytest
import torch
from safetensors.torch import load_file, save_file

from limite.core.errors import LimiteError
from limite.core.model.critic import Critic, start_head
from limite.core.model.init import build_decoder
from limite.core.model.llama.scaling import Llama3Scaling
from limite.core.model.llama.spec import LlamaSpec
from limite.core.pretrained.critic import save_critic
from limite.core.pretrained.directory import ModelDirectory
from limite.core.pretrained.inspect import REST, Look, Sampling, Stored, look_at
from limite.core.pretrained.save import save_pretrained
from limite.plugins.attention.simplicial import Simplicial
from tests.core.pretrained.words import CHATML, write_words

GOLDEN = Path(__file__).parents[2] / "golden"
LLAMA = LlamaSpec(
    width=16,
    layers=2,
    heads=2,
    kv_heads=1,
    head_width=8,
    mlp_width=24,
    context=64,
    vocabulary=384,
    tied_head=False,
    rope_scaling=Llama3Scaling(
        factor=4.0, low_freq_factor=1.0, high_freq_factor=4.0, original_context=16
    ),
)


@pytest.fixture(scope="module")
def golden(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The published tiny model as a directory, without a tokenizer."""
    folder = tmp_path_factory.mktemp("golden")
    tensors = load_file(GOLDEN / "limite_tiny.safetensors")
    model = {name: value for name, value in tensors.items() if name.startswith("model.")}
    save_file(model, folder / "model.safetensors")
    config = json.loads((GOLDEN / "limite_tiny.json").read_text())["config"]
    (folder / "config.json").write_text(json.dumps(config | {"torch_dtype": "bfloat16"}))
    return folder


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Llama model with tokenizer and chat template, in which nothing disagrees."""
    folder = tmp_path_factory.mktemp("sound")
    words = write_words(
        folder / "words",
        config={
            "bos_token": "<|endoftext|>",
            "eos_token": "<|im_end|>",
            "model_max_length": 64,
            "pad_token": "<|endoftext|>",
        },
        generation={"eos_token_id": END, "bos_token_id": BEGIN, "pad_token_id": BEGIN},
        template=CHATML,
    )
    decoder = build_decoder(LLAMA.filled(), 5)
    save_pretrained(decoder, folder / "bare")
    config = json.loads((folder / "bare" / "config.json").read_text())
    ids = {"bos_token_id": BEGIN, "eos_token_id": END, "pad_token_id": BEGIN}
    (words / "config.json").write_text(json.dumps(config | ids))
    save_pretrained(decoder, folder / "model", source=ModelDirectory.open(words))
    return folder / "model"


BEGIN, END, IDS = 360, 362, 365


@pytest.fixture
def copy(sound: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(sound, tmp_path / "model"))


def edited(folder: Path, name: str, **changes: Any) -> None:
    """Sets fields of a JSON file; ``None`` takes one away."""
    place = folder / name
    data = json.loads(place.read_text()) | changes
    place.write_text(json.dumps({key: value for key, value in data.items() if value is not None}))


def mistakes(look: Look) -> str:
    return "\n".join(map(str, look.mistakes))


# Numbers


def test_the_published_tiny_model_by_hand(golden: Path) -> None:
    look = look_at(golden)
    small = 8 * (4 * 12 + 1 + 1 + 4) + 3 * 2 * 6  # gates, scales and XSA; gates of value layers
    rest = 8 * 4 + 8 * 64 + 2 * (8 * 3 * 8 + 8 * 3)
    assert look.parameters == {
        "MLP": 8 * 3 * 96 * 64,
        "attention": 8 * (2 * 64 * 64 + 2 * 32 * 64) + small,
        "token table": 128 * 64,
        "value table": 128 * 32,
        REST: rest,
    }
    total = sum(look.parameters.values())
    assert total == 259_492
    assert list(look.parameters.values()) == sorted(look.parameters.values(), reverse=True)
    halves = total - small - rest
    assert look.stored["bfloat16"] == Stored(tensors=2 + 8 * 7, numbers=halves, bytes=2 * halves)
    assert look.stored["float32"] == Stored(
        tensors=8 * (4 + 4) + 3 + 5, numbers=small + rest, bytes=4 * (small + rest)
    )
    assert look.shape is not None
    assert look.shape.attention == {"local 6": 6, "global without positions": 2}
    assert (look.shape.context, look.shape.rows) == (256, 128)
    assert look.shape.rope == "base 1,024, 8 of 16 channels"
    assert look.memory is not None
    assert (look.memory.context, look.memory.batch) == (256, 1)
    cache = (6 * 6 + 2 * 256) * 2 * (2 * 16)  # of keys and values, 2 heads of 16 channels
    assert look.memory.sampling == {
        "float32": Sampling(
            weights_bytes=4 * total, cache_bytes=4 * cache, total_bytes=4 * (total + cache)
        ),
        "bfloat16": Sampling(
            weights_bytes=2 * halves + 4 * (small + rest),
            cache_bytes=2 * cache,
            total_bytes=2 * (halves + cache) + 4 * (small + rest),
        ),
    }
    # Two of the eight layers mix earlier states.
    kept = 8 * (6 * 64 + 4 * 96 + (6 * 4 + 4 * 2) * 16) + 7 * 64 + 3 * 48
    assert look.memory.training_bytes == 4 * (4 * total + 256 * kept)
    assert mistakes(look) == ""
    assert look.warnings == ("there is no tokenizer.json: the model cannot read or write text",)
    assert look.files == {each.name: each.stat().st_size for each in golden.iterdir()}


def test_a_llama_model_by_hand(sound: Path) -> None:
    look = look_at(sound, context=40, batch=3)
    assert look.parameters == {
        "token table": 384 * 16,
        "output head": 384 * 16,
        "MLP": 2 * 3 * 24 * 16,
        "attention": 2 * (2 * 16 * 16 + 2 * 8 * 16),
        REST: (2 * 2 + 1) * 16,
    }
    total = sum(look.parameters.values())
    assert look.stored == {"float32": Stored(tensors=21, numbers=total, bytes=4 * total)}
    assert (look.family, look.architecture) == ("llama", "LlamaForCausalLM")
    assert look.shape is not None
    assert look.shape.attention == {"global": 2}
    assert look.shape.rope == "base 10,000, llama3 scaling by 4 from 16 tokens"
    assert not look.shape.tied_head
    assert look.memory is not None
    cache = 2 * 64 * 2 * 8 * 4  # two layers; 64 slots, the fewest there are, for 40 tokens
    assert look.memory.sampling["float32"] == Sampling(
        weights_bytes=4 * total, cache_bytes=cache, total_bytes=4 * total + 3 * cache
    )
    kept = 2 * (4 * 16 + 4 * 24 + (3 * 2 + 2) * 8) + 3 * 12
    assert look.memory.training_bytes == 4 * (4 * total + 3 * 40 * kept)
    words = look.tokenizer
    assert words is not None
    assert (words.kind, words.vocabulary, words.templates) == ("BPE", IDS, ("default",))
    assert (words.begin, words.pad, words.unopened) == (BEGIN, BEGIN, "")
    assert (words.ends, words.ends_from) == ({END: "<|im_end|>"}, "generation_config.json")
    assert (look.warnings, look.mistakes) == ((), ())


def test_a_context_beyond_the_model_is_refused(sound: Path) -> None:
    with pytest.raises(LimiteError, match="--context: expected at most the model's 64 tokens"):
        look_at(sound, context=65)


def test_a_critic_is_a_trunk_and_a_head(sound: Path, tmp_path: Path) -> None:
    trunk = build_decoder(LLAMA.filled(), 5)
    save_critic(start_head(Critic(trunk)), tmp_path / "critic")
    look = look_at(tmp_path / "critic")
    assert look.architecture == "LlamaForTokenClassification"
    assert look.parameters["value head"] == 16 + 1
    assert "output head" not in look.parameters
    assert mistakes(look) == ""
    file = tmp_path / "critic" / "model.safetensors"
    save_file(load_file(file) | {"lm_head.weight": torch.zeros(384, 16)}, file)
    assert "lm_head.weight: this model has no such tensor" in mistakes(look_at(tmp_path / "critic"))


def test_a_variant_names_the_family_it_is_of(sound: Path, tmp_path: Path) -> None:
    assert look_at(sound).base is None
    spec = attrs.evolve(LLAMA, attention=Simplicial(every=2))
    save_pretrained(build_decoder(spec.filled(), 5), tmp_path / "variant")
    look = look_at(tmp_path / "variant")
    assert (look.family, look.base) == ("limite-variant", "llama")
    assert mistakes(look) == ""


def test_a_dtype_that_is_none_is_a_mistake(copy: Path) -> None:
    edited(copy, "config.json", torch_dtype="int8")
    assert "torch_dtype: expected one of" in mistakes(look_at(copy))


# Disagreements


CASES: dict[str, tuple[str, dict[str, Any], str]] = {
    "dtype": (
        "config.json", {"torch_dtype": "bfloat16"},
        "config.json says bfloat16, and the matrices are stored in float32: they are rounded",
    ),
    "no dtype": (
        "config.json", {"torch_dtype": None},
        "config.json says no dtype; the matrices are stored in float32",
    ),
    "two dtypes": (
        "config.json", {"dtype": "float32", "torch_dtype": "float16"},
        "config.json says both float16 and float32; limite goes by dtype",
    ),
    "end": (
        "config.json", {"eos_token_id": 5},
        "config.json names end ids 5, which are not used; responses end at 362",
    ),
    "end of the tokenizer": (
        "generation_config.json", {"eos_token_id": [BEGIN]},
        "the tokenizer's end token is 362, which is not used; responses end at 360",
    ),
    "no end ids": (
        "generation_config.json", {"eos_token_id": None},
        "generation_config.json lists no end ids; the tokenizer's, 362, counts",
    ),
    "an end outside": (
        "generation_config.json", {"eos_token_id": [END, 380]},
        "the end id 380 is none of the tokenizer's 365 ids",
    ),
    "begin": (
        "config.json", {"bos_token_id": 1},
        "begin tokens differ: config.json says 1, generation_config.json says 360, the tokenizer "
        "says 360; limite uses what the tokenizer says",
    ),
    "padding": (
        "generation_config.json", {"pad_token_id": 2},
        "padding tokens differ: config.json says 360, generation_config.json says 2",
    ),
    "length": (
        "tokenizer_config.json", {"model_max_length": 32},
        "tokenizer_config.json says texts have at most 32 tokens, config.json 64",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_every_disagreement_is_told_with_what_it_means(copy: Path, case: str) -> None:
    file, changes, said = CASES[case]
    edited(copy, file, **changes)
    look = look_at(copy)
    assert any(warning.startswith(said) for warning in look.warnings), look.warnings
    assert mistakes(look) == ""


def test_a_context_beyond_what_positions_are_scaled_to_is_told(tmp_path: Path) -> None:
    save_pretrained(build_decoder(attrs.evolve(LLAMA, context=128).filled()), tmp_path / "model")
    warnings = look_at(tmp_path / "model").warnings
    assert any("128 tokens is beyond what rotary positions are scaled to" in w for w in warnings)


def test_other_files_of_weights_are_told(copy: Path) -> None:
    (copy / "pytorch_model.bin").write_bytes(b"\x80\x04")
    shutil.copyfile(copy / "model.safetensors", copy / "old.safetensors")
    assert look_at(copy).warnings == (
        "old.safetensors is not one of the model's files of weights, and is not read",
        "pytorch_model.bin is a pickle: it is never opened, and the safetensors beside it count",
    )


def test_without_the_package_the_files_are_read_and_no_more(
    copy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = look_at(copy).tokenizer
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    look = look_at(copy)
    assert look.tokenizer is not None
    assert "pip install 'limite[hf]'" in look.tokenizer.unopened
    assert attrs.evolve(look.tokenizer, unopened="") == opened
    assert (look.warnings, look.mistakes) == ((), ())


# Broken directories


def test_a_configuration_that_is_not_understood_leaves_the_rest(copy: Path) -> None:
    edited(copy, "config.json", surprise=1, hidden_act="gelu")
    look = look_at(copy)
    assert "config.json: surprise: unknown field" in mistakes(look)
    assert "config.json: hidden_act: only 'silu' is implemented, got 'gelu'" in mistakes(look)
    assert (look.shape, look.memory, look.family) == (None, None, "llama")
    assert look.tokenizer is not None
    assert look.parameters["MLP"] == 2 * 3 * 24 * 16  # from the headers
    assert look.stored["float32"].tensors == 21


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("{}", "model_type: expected one of .* got None"),
        ('{"model_type": 5, "architectures": 3, "dtype": ["x"], "eos_token_id": {}}', "got 5"),
        ('{"model_type": "llama", "max_position_embeddings": "x"}', "architectures: expected one"),
    ],
)
def test_a_strange_configuration_is_told(copy: Path, content: str, said: str) -> None:
    (copy / "config.json").write_text(content)
    (copy / ".git").mkdir()
    (copy / ".git" / "HEAD").write_text("x")
    (copy / "dangling").symlink_to("nowhere")
    look = look_at(copy)
    assert re.search(said, mistakes(look))
    assert look.shape is None
    assert set(look.files) == {file.name for file in copy.iterdir() if file.is_file()}


def test_nothing_that_ends_a_response_is_told(copy: Path) -> None:
    edited(copy, "generation_config.json", eos_token_id=None)
    edited(copy, "tokenizer_config.json", eos_token=None)
    edited(copy, "config.json", eos_token_id=None)
    look = look_at(copy)
    assert look.tokenizer is not None
    assert (look.tokenizer.ends, look.tokenizer.ends_from) == ({}, "")
    assert look.warnings[0].startswith("no end token: neither generation_config.json nor")


def test_what_is_no_json_leaves_the_rest(copy: Path) -> None:
    (copy / "config.json").write_text("{")
    look = look_at(copy)
    assert "config.json: not JSON" in mistakes(look)
    assert (look.family, look.architecture) == (None, None)
    assert look.parameters


def test_weights_that_do_not_fit_are_told_one_by_one(copy: Path) -> None:
    tensors = load_file(copy / "model.safetensors")
    tensors["model.norm.weight"] = torch.ones(17)
    tensors["model.layers.0.mlp.up_prj.weight"] = tensors.pop("model.layers.0.mlp.up_proj.weight")
    save_file(tensors, copy / "model.safetensors")
    told = mistakes(look_at(copy))
    assert "model.norm.weight: expected shape [16], got [17]" in told
    assert "did you mean 'model.layers.0.mlp.up_prj.weight'" in told


def test_weights_that_are_cut_short_or_gone_leave_the_rest(copy: Path) -> None:
    weights = copy / "model.safetensors"
    content = weights.read_bytes()
    weights.write_bytes(content[:-4])
    look = look_at(copy)
    assert "the file is cut short" in mistakes(look)
    assert (look.stored, look.shape is None) == ({}, False)
    assert sum(look.parameters.values()) > 0  # from the configuration
    weights.unlink()
    assert "no model.safetensors" in mistakes(look_at(copy))


def test_a_tokenizer_with_more_ids_than_rows_is_a_mistake(sound: Path, tmp_path: Path) -> None:
    decoder = build_decoder(attrs.evolve(LLAMA, vocabulary=100).filled())
    save_pretrained(decoder, tmp_path / "model", source=ModelDirectory.open(sound))
    told = mistakes(look_at(tmp_path / "model"))
    assert told.endswith(f"the tokenizer has {IDS} ids, and the embedding only 100 rows")


def test_a_broken_tokenizer_and_broken_settings_are_told_together(copy: Path) -> None:
    (copy / "tokenizer.json").write_text("[]")
    (copy / "generation_config.json").write_text('{"eos_token_id": "x", "top_p": 2}')
    look = look_at(copy)
    for said in (
        "tokenizer.json: expected",
        "eos_token_id: expected a token id",
        "top_p: expected",
    ):
        assert said in mistakes(look)
    assert look.tokenizer is None
    assert look.memory is not None


def test_nothing_is_changed(copy: Path) -> None:
    before = {file: (file.read_bytes(), file.stat().st_mtime_ns) for file in copy.iterdir()}
    look_at(copy)
    assert {file: (file.read_bytes(), file.stat().st_mtime_ns) for file in copy.iterdir()} == before
