"""The publisher's checkpoints: their special ids, the revisions that are measured, and how."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from limite.core.errors import LimiteError
from limite.evaluate.suites.checkpoints import (
    PINNED,
    id_faults,
    name_of,
    notes_on,
    refuse_other,
    revision_of,
)

IDS = {"bos_token_id": 151643, "eos_token_id": 151643, "pad_token_id": 151643}
CONFIG = {
    "architectures": ["LimiteForCausalLM"], "model_type": "limite", "vocab_size": 151936, **IDS,
}  # fmt: skip
VIOLETTO = PINNED["limite-1b-violetto"].revision


def checkpoint(folder: Path, *, config: object = CONFIG, generation: object = IDS) -> Path:
    folder.mkdir(parents=True)
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    if generation is not None:
        (folder / "generation_config.json").write_text(json.dumps(generation), encoding="utf-8")
    return folder


def test_one_id_begins_ends_and_pads_in_both_files(tmp_path):
    assert not list(id_faults(checkpoint(tmp_path / "good")))
    listed = {**IDS, "eos_token_id": [151643]}
    assert not list(id_faults(checkpoint(tmp_path / "listed", generation=listed)))


@pytest.mark.parametrize(
    ("config", "generation", "said"),
    [
        ({**CONFIG, "eos_token_id": 151645}, IDS, "config.json: eos_token_id is 151645"),
        (CONFIG, {**IDS, "eos_token_id": [151645, 151643]}, "generation_config.json: eos_token_id"),
        (CONFIG, {**IDS, "pad_token_id": None}, "pad_token_id is None, expected 151643"),
        ({**CONFIG, "bos_token_id": 1}, IDS, "bos_token_id is 1"),
        (CONFIG, None, "generation_config.json: missing"),
        (CONFIG, {**IDS, "decoder_start_token_id": 151645}, "decoder_start_token_id holds 151645"),
        ({**CONFIG, "model_type": "qwen3"}, IDS, "model_type 'qwen3', expected"),
    ],
)
def test_any_other_id_is_told(tmp_path, config, generation, said):
    place = checkpoint(tmp_path / "m", config=config, generation=generation)
    [fault] = id_faults(place)
    assert said in fault
    with pytest.raises(LimiteError, match="m: "):
        refuse_other(place, "chat-zero-shot")


def test_other_families_and_other_vocabularies_are_not_held_to_it(tmp_path):
    llama = {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "eos_token_id": 151645}
    assert not list(id_faults(checkpoint(tmp_path / "llama", config=llama)))
    small = {**CONFIG, "vocab_size": 300, "eos_token_id": 2}
    assert not list(id_faults(checkpoint(tmp_path / "small", config=small)))


def test_a_directory_tells_its_revision_where_it_was_downloaded(tmp_path):
    hub = tmp_path / "models--paradigma-inc--limite-1b-violetto" / "snapshots"
    cached = checkpoint(hub / VIOLETTO)
    assert (revision_of(cached), name_of(cached)) == (VIOLETTO, "limite-1b-violetto")
    loose = checkpoint(tmp_path / "mine")
    assert (revision_of(loose), name_of(loose)) == (None, None)
    records = loose / ".cache" / "huggingface" / "download"
    records.mkdir(parents=True)
    for name in ("config.json", "model.safetensors"):
        (records / f"{name}.metadata").write_text(f"{VIOLETTO}\netag\n0.5\n", encoding="utf-8")
    assert (revision_of(loose), name_of(loose)) == (VIOLETTO, "limite-1b-violetto")
    (records / "config.json.metadata").write_text(f"{'0' * 40}\netag\n", encoding="utf-8")
    assert revision_of(loose) is None  # files of two downloads are no revision


def test_only_the_pinned_revision_is_measured_and_only_by_its_profile(tmp_path):
    hub = tmp_path / "models--paradigma-inc--limite-1b-base" / "snapshots"
    pinned = checkpoint(hub / PINNED["limite-1b-base"].revision)
    refuse_other(pinned, "base-few-shot")
    with pytest.raises(LimiteError, match="is asked by the profile base-few-shot, with --shots"):
        refuse_other(pinned, "chat-zero-shot")
    later = checkpoint(hub / ("1" * 40))
    with pytest.raises(LimiteError, match=f"revision {'1' * 40} of limite-1b-base, and the suite"):
        refuse_other(later, "base-few-shot")
    loose = checkpoint(tmp_path / "limite-1b-violetto")
    refuse_other(loose, "chat-zero-shot")
    [note] = notes_on(loose)
    assert f"not known to be limite-1b-violetto at {VIOLETTO}" in note
    assert not list(notes_on(pinned))
