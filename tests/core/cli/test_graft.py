"""``limite graft``: what it says, and how it refuses."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from limite.core.model.init import build_decoder
from limite.core.model.llama.spec import LlamaSpec
from limite.core.pretrained.directory import ModelDirectory
from limite.core.pretrained.save import save_pretrained


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("graft") / "model"
    spec = LlamaSpec(vocabulary=50, width=32, heads=4, kv_heads=2, head_width=8, context=64)
    save_pretrained(build_decoder(spec, 1), folder)
    return str(folder)


def test_it_says_what_is_new(limite, model, tmp_path):
    new = str(tmp_path / "new")
    ended = limite("graft", model, "--to", new, "--attention", "simplicial", "--layers", "3,1")
    assert (ended.code, ended.err) == (0, "")
    lines = [line.split("  ", 1) for line in ended.out.splitlines()]
    told = {line[0].strip(): line[1].strip() for line in lines if len(line) > 1}
    total = sum(value.numel() for value in ModelDirectory.open(new).load().parameters())
    assert told["layers"] == "1, 3"
    assert told["parameters"] == f"{total:,} in float32"
    assert told["of them new"] == f"2,048 ({100 * 2048 / total:.2g}%)"
    assert told["no longer there"] == "none"
    assert float(told["largest difference of a logit"]) < 1e-5
    names = [name for name in told if "mixer" in name]
    assert names == [
        f"layers.{layer}.self_attn.mixer.{which}_proj.weight"
        for layer in (1, 3)
        for which in ("k2", "v2")
    ]
    assert {told[name] for name in names} == {"16 x 32"}
    assert ended.out.splitlines()[-1] == f"wrote {new}"


def test_json_and_settings(limite, model, tmp_path):
    arguments = ("--attention", "simplicial", "--layers", "2", "--set", "window2=5", "--seed", "3")
    new = tmp_path / "new"
    ended = limite("graft", model, "--to", str(new), *arguments, "--dtype", "bf16", "--json")
    assert (ended.code, ended.err) == (0, "")
    page = json.loads(ended.out)
    assert (page["path"], page["layers"], page["dtype"]) == (str(new), [2], "bfloat16")
    assert page["new"] == {
        f"layers.2.self_attn.mixer.{which}_proj.weight": [16, 32] for which in ("k2", "v2")
    }
    assert page["new_parameters"] == 1024
    attention = page["attention"]
    assert (attention["type"], attention["window1"], attention["window2"]) == ("simplicial", 64, 5)
    assert json.loads((new / "config.json").read_text())["attention"] == attention


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("--layers", "1,x,2.0"), ["--layers 1,x,2.0: expected numbers", "got 'x', '2.0'"]),
        (("--layers", "9,1,1"), ["there is no layer 9", "layer 1 is named twice"]),
        (("--attention", "simplical"), ["--attention: ", "did you mean 'simplicial'?"]),
        (("--attention", "global"), ["Global cannot be grafted", "'simplicial' can"]),
        (("--attention", "dppo"), ["--attention: 'dppo' is an objective"]),
        (("--set", "windw2=3"), ["--set windw2=3: windw2: unknown key; did you mean 'window2'?"]),
        (
            ("--set", "window2=0", "--set", "form=cubic"),
            ["--set window2=0: window2: ", "--set form=cubic: form: "],
        ),
        (("--set", "window1=7"), ["a graft takes window1 from the model"]),
        (("--set", "window1=32"), ["window1: the model decides: it becomes 64"]),
        (("--set", "window2"), ["expected PATH=VALUE"]),
        (("--dtype", "int8"), ["--dtype: expected bfloat16, float16 or float32, got 'int8'"]),
    ],
)  # fmt: skip
def test_what_cannot_be_is_refused_in_words(limite, model, tmp_path, change, said):
    words = {"--to": str(tmp_path / "new"), "--attention": "simplicial", "--layers": "1"}
    sets = []
    for name, value in zip(change[::2], change[1::2], strict=True):
        if name == "--set":
            sets += [name, value]
        else:
            words[name] = value
    ended = limite("graft", model, *(word for pair in words.items() for word in pair), *sets)
    assert ended.code == 2
    assert all(part in ended.err for part in said), ended.err
    assert not (tmp_path / "new").exists()


def test_paths_that_cannot_be_are_refused(limite, model, tmp_path):
    rest = ("--attention", "simplicial", "--layers", "1")
    ended = limite("graft", model, "--to", model, *rest)
    assert ended.code == 2
    assert "exists and is not overwritten" in ended.err
    ended = limite("graft", str(tmp_path / "none"), "--to", str(tmp_path / "new"), *rest)
    assert ended.code == 2
    assert "there is no such directory" in ended.err
    assert not list(Path(tmp_path).iterdir())
