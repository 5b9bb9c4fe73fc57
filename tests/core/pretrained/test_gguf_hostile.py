"""Bad GGUF files: told as the user's mistake, all at once, and nothing is left behind."""

from __future__ import annotations

import os
import pickle
import struct
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from limite.core.errors import LimiteError, RunFailed, SettingsError
from limite.core.pretrained.gguf import import_gguf
from limite.core.pretrained.gguf_file import GgufFile
from tests.core.pretrained import gguf_files

INFO = struct.Struct("<QQ")


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The bytes of a sound file."""
    made = gguf_files.model(quantisation="Q8_0")
    return made.write(tmp_path_factory.mktemp("gguf") / "x.gguf").read_bytes()


@pytest.fixture
def refused(tmp_path):
    """``refused(bytes)`` imports them, wants a LimiteError and no trace; gives what it says."""

    def refuse(data: bytes | Path, **options) -> str:
        path = data if isinstance(data, Path) else tmp_path / "bad.gguf"
        if isinstance(data, bytes):
            path.write_bytes(data)
        before = sorted(tmp_path.rglob("*"))
        with pytest.raises(LimiteError) as told:
            import_gguf(path, tmp_path / "out", **options)
        assert sorted(tmp_path.rglob("*")) == before
        return str(told.value)

    return refuse


def test_what_is_no_gguf_file(refused, tmp_path, sound):
    assert refused(b"") == f"{tmp_path / 'bad.gguf'}: is not a GGUF file"
    assert "is not a GGUF file" in refused(pickle.dumps({"weights": [1.0]}))
    assert "is not a GGUF file" in refused(b"ggml" + sound[4:])
    assert "is a folder" in refused(tmp_path)
    (tmp_path / "there.gguf").write_bytes(sound)
    assert "no such file; did you mean 'there.gguf'?" in refused(tmp_path / "their.gguf")
    os.mkfifo(tmp_path / "pipe.gguf")
    assert "a pipe" in refused(tmp_path / "pipe.gguf")


@pytest.mark.parametrize(
    ("version", "said"),
    [
        (struct.pack("<I", 1), "GGUF version 1 is not supported; versions 2 and 3 are"),
        (struct.pack("<I", 4), "GGUF version 4 is not supported"),
        (struct.pack(">I", 3), "big-endian GGUF is not supported"),
    ],
)
def test_other_versions(version, said, refused, sound):
    assert said in refused(sound[:4] + version + sound[8:])


def test_version_2_is_read(tmp_path, sound):
    (tmp_path / "x.gguf").write_bytes(sound[:4] + struct.pack("<I", 2) + sound[8:])
    assert import_gguf(tmp_path / "x.gguf", tmp_path / "out").family == "llama"


HUGE = (1 << 64) - 1


def test_numbers_that_the_file_cannot_keep(refused, sound):
    tensors, fields = INFO.unpack_from(sound, 8)
    for counts in ((HUGE, fields), (tensors, HUGE), (1 << 40, fields)):
        assert "it promises" in refused(sound[:8] + INFO.pack(*counts) + sound[24:])
    # The length of the first key, of its text, and of a list.
    for mark, back in ((b"general.architecture", 8), (b"Tiny", 8), (b"<|endoftext|>", 16)):
        at = sound.index(mark) - back
        for length in (HUGE, 1 << 62, len(sound)):
            damaged = sound[:at] + struct.pack("<Q", length) + sound[at + 8 :]
            assert "cut short or damaged" in refused(damaged)


def header_end(data: bytes) -> int:
    """Where the description of the last tensor ends."""
    names = [b"blk.1.ffn_norm.weight", b"output_norm.weight", b"blk.1.post_attention"]
    last = max(data.rindex(name) for name in names if name in data)
    return last + 64


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_a_file_cut_short_anywhere_is_refused(data, sound, refused):
    refused(sound[: data.draw(st.integers(0, len(sound) - 1))])


@settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_damage_to_the_header_raises_nothing_else(data, sound, tmp_path):
    """Any bytes, anywhere before the weights: a file that is read, or a LimiteError."""
    end = header_end(sound)
    at = data.draw(st.integers(0, end - 8))
    with_bytes = data.draw(
        st.binary(min_size=1, max_size=8) | st.sampled_from([b"\xff" * 8, bytes(8)])
    )
    path = tmp_path / "damaged.gguf"
    path.write_bytes(sound[:at] + with_bytes + sound[at + len(with_bytes) :])
    target = tmp_path / f"out-{len(list(tmp_path.iterdir()))}"
    try:
        import_gguf(path, target)
    except LimiteError:
        assert not target.exists()
    else:
        assert target.is_dir()
    assert not list(tmp_path.glob(".writing-*"))


def place(data: bytes, name: bytes) -> int:
    """Where a tensor's number of dimensions stands; then come dimensions, kind and offset."""
    return data.index(struct.pack("<Q", len(name)) + name) + 8 + len(name)


def test_tensors_that_lie_elsewhere(refused, sound):
    at = place(sound, b"blk.0.attn_norm.weight")  # of one dimension
    offset = at + 4 + 8 + 4
    for value, said in (
        (1 << 40, "'blk.0.attn_norm.weight' does not lie within it"),
        (1 << 63, "does not lie within it"),
        (1, "does not lie within it"),  # not where tensors may begin
        (0, "overlap"),
    ):
        assert said in refused(sound[:offset] + struct.pack("<Q", value) + sound[offset + 8 :])
    assert "has 9 dimensions" in refused(sound[:at] + struct.pack("<I", 9) + sound[at + 4 :])
    zero = sound[: at + 4] + struct.pack("<Q", 0) + sound[at + 12 :]
    assert "cannot have shape [0]" in refused(zero)
    kind = at + 4 + 8
    for number in (99, 4):
        told = refused(sound[:kind] + struct.pack("<I", number) + sound[kind + 4 :])
        assert f"of a type that is not known, {number}" in told
    wide = sound[: at + 4] + struct.pack("<Q", 1 << 62) + sound[at + 12 :]
    assert "does not lie within it" in refused(wide)


def test_a_name_or_a_field_that_stands_twice(refused, sound):
    assert "the tensor 'blk.0.attn_k.weight' stands twice" in refused(
        sound.replace(b"blk.0.attn_q.weight", b"blk.0.attn_k.weight")
    )
    assert "the metadata field 'llama.block_count' stands twice" in refused(
        sound.replace(b"llama.vocab_size\x04", b"llama.block_coun\x04").replace(
            struct.pack("<Q", 16) + b"llama.block_coun\x04",
            struct.pack("<Q", 17) + b"llama.block_count\x04",
        )
    )


def test_text_that_is_none(refused, sound):
    assert "not UTF-8" in refused(sound.replace(b"Tiny", b"\xff\xfe\xff\xfe"))


def test_weights_that_are_no_numbers_leave_nothing_behind(refused, tmp_path):
    made = gguf_files.model()
    made.tensors["blk.1.ffn_up.weight"][3, 5] = np.nan
    told = refused(made.write(tmp_path / "bad.gguf"))
    assert "blk.1.ffn_up.weight: holds values that are infinite or not a number" in told
    made.tensors["blk.1.ffn_up.weight"][3, 5] = 1e6
    path = made.write(tmp_path / "wide.gguf")
    told = refused(path, dtype="float16")
    assert "holds values too large for float16; choose another --dtype" in told
    assert import_gguf(path, tmp_path / "fits", dtype="bfloat16").dtype == "bfloat16"


def test_a_name_that_is_taken_stays_as_it_is(tmp_path, sound):
    path = tmp_path / "x.gguf"
    path.write_bytes(sound)
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    (tmp_path / "empty").mkdir()
    for name in ("x.gguf", "link", "empty"):
        with pytest.raises(LimiteError, match="exists and is not overwritten"):
            import_gguf(path, tmp_path / name)
    assert path.read_bytes() == sound
    with pytest.raises(LimiteError, match="there is no folder"):
        import_gguf(path, tmp_path / "a" / "b")
    with pytest.raises(LimiteError, match="got 'bfloat61'; did you mean 'bfloat16'"):
        import_gguf(path, tmp_path / "out", dtype="bfloat61")
    assert sorted(each.name for each in tmp_path.iterdir()) == ["empty", "link", "x.gguf"]


def test_a_folder_made_meanwhile_is_not_replaced(tmp_path, sound):
    path, target = tmp_path / "x.gguf", tmp_path / "out"
    path.write_bytes(sound)

    def meanwhile(*_):
        target.mkdir(exist_ok=True)

    with pytest.raises(LimiteError, match="exists and is not overwritten"):
        import_gguf(path, target, progress=meanwhile)
    assert list(target.iterdir()) == []
    assert sorted(each.name for each in tmp_path.iterdir()) == ["out", "x.gguf"]


def test_a_full_disk_leaves_nothing_behind(tmp_path, sound, fail_at):
    path = tmp_path / "x.gguf"
    path.write_bytes(sound)
    with fail_at(-1) as calls:
        import_gguf(path, tmp_path / "fits")
    assert len(calls) > 5
    # The second folder asked for is there already, whatever the disk says.
    there = [number for number, call in enumerate(calls) if call == "mkdir"][1]
    for number in sorted({*range(len(calls))} - {there}):
        with fail_at(number), pytest.raises(RunFailed, match="no space left"):
            import_gguf(path, tmp_path / "out")
        assert sorted(each.name for each in tmp_path.iterdir()) == ["fits", "x.gguf"], number


def test_stopping_it_leaves_nothing_behind(tmp_path, sound):
    path = tmp_path / "x.gguf"
    path.write_bytes(sound)

    def stop(*_):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        import_gguf(path, tmp_path / "out", progress=stop)
    assert [each.name for each in tmp_path.iterdir()] == ["x.gguf"]


def test_a_file_that_shrinks_while_it_is_read(tmp_path, sound):
    path = tmp_path / "x.gguf"
    path.write_bytes(sound)

    def shrink(*_):
        os.truncate(path, len(sound) // 2)

    with pytest.raises(LimiteError, match="became shorter while it was read"):
        import_gguf(path, tmp_path / "out", progress=shrink)
    assert [each.name for each in tmp_path.iterdir()] == ["x.gguf"]


def test_only_kinds_that_can_be_read_are(tmp_path, refused, monkeypatch):
    import gguf

    path = gguf_files.model(quantisation="Q4_1").write(tmp_path / "bad.gguf")
    monkeypatch.delitem(gguf.quants._type_traits, gguf.GGMLQuantizationType.Q4_1)
    assert "blk.0.attn_k.weight: weights of type Q4_1 cannot be read" in refused(path)


def test_metadata_of_every_type_is_read(tmp_path):
    import gguf

    writer = gguf.GGUFWriter(tmp_path / "x.gguf", "llama")
    numbers = {
        "uint8": 200, "int8": -100, "uint16": 60000, "int16": -30000, "uint32": 1 << 31,
        "int32": -5, "uint64": 1 << 63, "int64": -(1 << 62), "float32": 0.1, "float64": 0.1,
        "bool": True, "string": "ü",
    }  # fmt: skip
    for kind, value in numbers.items():
        getattr(writer, f"add_{kind}")(f"x.{kind}", value)
    lists = {"numbers": [1, 2], "reals": [0.1, 1e-5], "flags": [True, False], "texts": ["a", "ü"]}
    for name, values in lists.items():
        writer.add_array(name, values)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    with GgufFile.open(tmp_path / "x.gguf") as file:
        assert {key[2:]: file.metadata[key] for key in file.metadata if key[:2] == "x."} == numbers
        assert {key: file.metadata[key] for key in lists} == lists
        assert type(file.metadata["x.bool"]) is bool
        assert file.tensors == {}


def test_mistakes_are_settings_errors_with_their_place(tmp_path):
    made = gguf_files.model()
    made.metadata["llama.expert_count"] = 8
    with pytest.raises(SettingsError) as told:
        import_gguf(made.write(tmp_path / "x.gguf"), tmp_path / "out")
    (mistake,) = told.value.mistakes
    assert (mistake.path, mistake.file) == ("llama.expert_count", str(tmp_path / "x.gguf"))
