"""A grafted model computes what its parent does, can learn otherwise, and can be kept."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import attrs
import pytest
import torch
from torch import Tensor

from limite.core.errors import LimiteError, SettingsError
from limite.core.kernels.layout import Layout
from limite.core.model.decoder import Decoder
from limite.core.model.init import build_decoder
from limite.core.model.llama.spec import LlamaSpec
from limite.core.model.spec import ModelSpec
from limite.core.pretrained.directory import ModelDirectory
from limite.core.pretrained.graft import graft, graft_directory
from limite.core.pretrained.save import save_pretrained
from limite.plugins.attention.everywhere import Global
from limite.plugins.attention.local import Local
from limite.plugins.attention.local_global import LocalGlobal
from limite.plugins.attention.pairs import SimplicialMixer
from limite.plugins.attention.simplicial import Simplicial
from limite.plugins.attention.window import WindowMixer
from tests.core.pretrained.words import write_words

SIZES: dict[str, Any] = {
    "vocabulary": 41, "padded_vocabulary": 48, "width": 32, "heads": 4, "kv_heads": 2,
    "head_width": 8, "mlp_width": 40, "context": 96,
}  # fmt: skip
SPECS: dict[str, Any] = {
    "limite": ModelSpec(**SIZES, attention=LocalGlobal(window=5, global_every=2)),
    "llama": LlamaSpec(**SIZES, rope_base=100.0),
    "qwen2": LlamaSpec(**SIZES, query_key_value_bias=True, tied_head=False),
    "qwen3": LlamaSpec(
        **SIZES,
        query_key_norm=True,
        attention=LocalGlobal(window=7, global_layers=(1,), global_rotary=True),
    ),
}
LENGTHS = (40, 23)


def parent_of(family: str, dtype: torch.dtype = torch.float32) -> Decoder:
    decoder = build_decoder(SPECS[family], 3, dtype=dtype)
    generator = torch.Generator().manual_seed(8)
    with torch.no_grad():  # biases, gates and the like begin at values that hide mistakes
        for parameter in decoder.parameters():
            noise = torch.randn(parameter.shape, generator=generator).to(parameter.dtype)
            parameter.add_(noise, alpha=0.1)
    return decoder


def rows() -> tuple[Tensor, Layout]:
    generator = torch.Generator().manual_seed(1)
    return torch.randint(41, (sum(LENGTHS),), generator=generator), Layout.from_lengths(LENGTHS)


@torch.no_grad()
def prefilled(decoder: Decoder) -> Tensor:
    tokens, layout = rows()
    return decoder.logits(decoder(tokens, layout))


@torch.no_grad()
def decoded(decoder: Decoder) -> Tensor:
    """A prompt for each row, a chunk, then a token at a time: logits of all but the prompts."""
    tokens, layout = rows()
    by_row = tokens.split(layout.lengths)
    cache = decoder.new_cache(2, 48)
    prompt = Layout.from_lengths([9, 6])
    decoder.extend(torch.cat([by_row[0][:9], by_row[1][:6]]), prompt, cache)
    chunk = Layout.from_lengths([8, 1])
    found = [decoder.extend(torch.cat([by_row[0][9:17], by_row[1][6:7]]), chunk, cache)]
    for place in range(14):
        token = torch.stack([by_row[0][17 + place], by_row[1][7 + place]])
        found.append(decoder.step(token, cache))
    return decoder.logits(torch.cat(found))


@pytest.mark.parametrize("way", [prefilled, decoded])
@pytest.mark.parametrize("family", SPECS)
def test_logits_are_the_parents(family: str, way: Any) -> None:
    parent = parent_of(family, torch.float64)
    child = graft(parent, Simplicial(window2=3), (0, 1)).decoder
    assert any(isinstance(mixer, SimplicialMixer) for mixer in child.mixers())
    # The norm of second keys has an epsilon of 2^-23, by half of which they are shorter than 1.
    scale = way(parent).abs().max()
    assert (way(child) - way(parent)).abs().max() < 2**-22 * scale
    parent = parent_of(family, torch.float32)
    child = graft(parent, Simplicial(window2=3), (0, 1)).decoder
    # Sums in another order: some roundings of float32 at each layer.
    assert (way(child) - way(parent)).abs().max() < 2**-19 * scale


@pytest.mark.parametrize("way", [prefilled, decoded])
@pytest.mark.parametrize("family", SPECS)
def test_logits_are_the_parents_in_half_precision(family: str, way: Any) -> None:
    parent = parent_of(family, torch.bfloat16)
    child = graft(parent, Simplicial(window2=3), (0, 1)).decoder
    exact = build_decoder(parent.spec, dtype=torch.float64)
    with torch.no_grad():
        for mine, theirs in zip(exact.parameters(), parent.parameters(), strict=True):
            mine.copy_(theirs)
    truth, before, after = way(exact), way(parent), way(child)
    # A sum in float32 in another order is rounded to another bfloat16 once in thousands.
    assert (before == after).double().mean() > 0.8
    rounding = (before - truth).double().norm()
    assert (after - before).double().norm() < 0.5 * rounding
    assert (after - truth).double().norm() < 1.1 * rounding


@pytest.mark.parametrize("family", SPECS)
def test_everything_else_is_shared_bit_for_bit(family: str) -> None:
    parent = parent_of(family)
    before = {name: value.detach().clone() for name, value in parent.named_parameters()}
    grafted = graft(parent, Simplicial(window2=3), (3, 1))
    new = {
        f"layers.{layer}.self_attn.mixer.{which}_proj.weight": (16, 32)
        for layer in (1, 3)
        for which in ("k2", "v2")
    }
    assert (grafted.layers, grafted.new, grafted.dropped) == ((1, 3), new, ())
    assert grafted.new_parameters == 4 * 16 * 32
    theirs = dict(grafted.decoder.named_parameters())
    assert theirs.keys() == before.keys() | new.keys()
    assert grafted.parameters == grafted.new_parameters + sum(v.numel() for v in before.values())
    for name, value in parent.named_parameters():
        assert theirs[name] is value, "a copy"
        assert torch.equal(value, before[name])
    tables = dict(grafted.decoder.named_buffers())
    assert tables.keys() == dict(parent.named_buffers()).keys()
    assert all(value is tables[name] for name, value in parent.named_buffers())
    assert 0 <= grafted.difference < 1e-4


@pytest.mark.parametrize("family", SPECS)
def test_it_can_learn(family: str) -> None:
    grafted = graft(parent_of(family), Simplicial(window2=3), (0, 1))
    decoder = grafted.decoder.train()
    tokens, layout = rows()
    before = {name: value.detach().clone() for name, value in decoder.named_parameters()}
    optimizer = torch.optim.SGD(decoder.parameters(), lr=0.1)
    logp, _ = decoder.log_probabilities(decoder(tokens, layout)[:-1], tokens[1:])
    (-logp.mean()).backward()
    sizes = {name: decoder.get_parameter(name).grad.norm().item() for name in grafted.new}
    largest = decoder.get_parameter("layers.0.self_attn.k_proj.weight").grad.norm().item()
    assert all(size > 1e-3 * largest for size in sizes.values()), sizes
    optimizer.step()
    for name in grafted.new:
        assert not torch.equal(before[name], decoder.get_parameter(name)), name
    heads = decoder.get_parameter("layers.0.self_attn.mixer.k2_proj.weight").unflatten(0, (2, 8))
    assert (heads.flatten(1).norm(dim=1) > 0).all(), "a head stays where it was"


def test_what_each_layer_saw_it_still_sees() -> None:
    parent = parent_of("qwen3")
    mixers = list(graft(parent, Simplicial(window2=3), (0, 1)).decoder.mixers())
    assert [type(mixer) for mixer in mixers] == [SimplicialMixer] * 2 + [WindowMixer] * 2
    assert [mixer.window for mixer in mixers] == [7, 96, 7, 7]
    assert all(mixer.rotary for mixer in mixers)
    limite = list(graft(parent_of("limite"), Simplicial(), (0, 1)).decoder.mixers())
    assert [(mixer.window1, mixer.rotary) for mixer in limite[:2]] == [(5, True), (96, False)]


def test_a_second_graft_leaves_the_first() -> None:
    once = graft(parent_of("llama"), Simplicial(window2=3), (2,))
    twice = graft(once.decoder, Simplicial(window2=4), (0,))
    name = "layers.2.self_attn.mixer.k2_proj.weight"
    assert twice.decoder.get_parameter(name) is once.decoder.get_parameter(name)
    assert [getattr(mixer, "window2", 0) for mixer in twice.decoder.mixers()] == [4, 0, 3, 0]
    assert list(twice.new) == [
        name.replace("2.s", "0.s"),
        name.replace("2.s", "0.s").replace("k2", "v2"),
    ]
    with pytest.raises(LimiteError, match=r"layer 2 cannot become 2-simplicial.*SimplicialMixer"):
        graft(once.decoder, Simplicial(), (0, 2))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    words = write_words(tmp_path / "words", generation={"eos_token_id": [0, 2]})
    (words / "config.json").write_text("{}")
    sizes = {**SIZES, "vocabulary": 370, "padded_vocabulary": 384}
    save_pretrained(build_decoder(LlamaSpec(**sizes), 2), tmp_path / "bare")
    (tmp_path / "bare" / "config.json").rename(words / "config.json")
    decoder = build_decoder(LlamaSpec(**sizes), 2)
    save_pretrained(decoder, tmp_path / "model", source=ModelDirectory.open(words))
    return tmp_path


def test_a_directory_is_grafted_into_another(folder: Path) -> None:
    files = {path.name: path.read_bytes() for path in (folder / "model").iterdir()}
    done = graft_directory(folder / "model", folder / "new", Simplicial(window2=3), [1])
    assert {path.name: path.read_bytes() for path in (folder / "model").iterdir()} == files
    for name in ("tokenizer.json", "tokenizer_config.json", "generation_config.json"):
        assert (folder / "new" / name).read_bytes() == files[name]
    config = json.loads((folder / "new" / "config.json").read_text())
    assert config["model_type"] == "limite-variant"
    assert config["base"]["model_type"] == "llama"
    assert config["torch_dtype"] == "float32"
    assert config["attention"]["type"] == "simplicial"
    again = ModelDirectory.open(folder / "new")
    assert again.spec == done.decoder.spec
    loaded = again.load()
    for name, value in done.decoder.named_parameters():
        assert torch.equal(value, loaded.get_parameter(name)), name
    parent = ModelDirectory.open(folder / "model").load()
    assert (prefilled(loaded) - prefilled(parent)).abs().max() < 2e-5
    save_pretrained(loaded, folder / "copy", source=again)
    assert (folder / "copy" / "config.json").read_bytes() == (
        folder / "new" / "config.json"
    ).read_bytes()


def test_weights_can_be_rounded_on_the_way(folder: Path) -> None:
    done = graft_directory(
        folder / "model", folder / "new", Simplicial(window2=3), [1], dtype="bfloat16"
    )
    assert {value.dtype for value in done.decoder.parameters()} == {torch.bfloat16}
    assert ModelDirectory.open(folder / "new").dtype == "bfloat16"
    again = ModelDirectory.open(folder / "new").load()
    assert torch.equal(prefilled(again), prefilled(done.decoder))


@pytest.mark.parametrize(
    ("layers", "said"),
    [
        ((4,), "there is no layer 4; the model has layers 0 to 3"),
        ((-1, 7), "there is no layer -1.*\n.*there is no layer 7"),
        ((2, 1, 2), "layer 2 is named twice"),
        ((), "no layer is named"),
    ],
)
def test_layers_that_cannot_be_are_all_told(
    folder: Path, layers: tuple[int, ...], said: str
) -> None:
    with pytest.raises(SettingsError, match=f"(?s)layers: .*{said}"):
        graft_directory(folder / "model", folder / "new", Simplicial(), layers)
    assert not (folder / "new").exists()


@pytest.mark.parametrize(
    ("attention", "said"),
    [
        (Global(), "Global cannot be grafted.*'simplicial' can"),
        (Local(window=3), "Local cannot be grafted"),
        (Simplicial(form="determinant"), "'determinant' cannot be grafted"),
        (Simplicial(window1=4, rotary=True), "takes window1, rotary from the model"),
    ],
)
def test_attention_that_cannot_be_grafted_is_refused(
    folder: Path, attention: Any, said: str
) -> None:
    (folder / "model" / "model.safetensors").unlink()  # told before a weight is read
    with pytest.raises(LimiteError, match=said):
        graft_directory(folder / "model", folder / "new", attention, [1])
    assert not (folder / "new").exists()


def test_settings_the_model_decides_are_told(folder: Path) -> None:
    component = Simplicial(window1=32)  # the default, and yet asked for
    with pytest.raises(SettingsError, match="window1: the model decides: it becomes 96"):
        graft_directory(
            folder / "model", folder / "new", component, [1], keep=["window1", "window2"]
        )


def test_what_exists_is_not_written_over(folder: Path) -> None:
    (folder / "new").mkdir()
    with pytest.raises(LimiteError, match="exists and is not overwritten"):
        graft_directory(folder / "model", folder / "new", Simplicial(), [1])
    assert not list((folder / "new").iterdir())


def test_weights_that_are_not_finite_are_told() -> None:
    parent = parent_of("llama")
    with torch.no_grad():
        parent.embed_tokens.weight[:] = float("nan")
    with pytest.raises(LimiteError, match="not finite"):
        graft(parent, Simplicial(), (1,))


class Second(WindowMixer):
    """Somebody else's attention: a window, and what a parameter of its own adds."""

    def __init__(self, shape: Any, **settings: Any) -> None:
        super().__init__(shape, **settings)
        self.register_buffer("ramp", torch.arange(shape.width).double(), persistent=False)
        self.own = torch.nn.Parameter(torch.empty(shape.heads, shape.head_width))

    def forward(self, *streams: Any) -> Tensor:
        return super().forward(*streams) + self.own * self.ramp[1].to(self.own.dtype)

    @torch.no_grad()
    def initialise(self, seeds: Any) -> None:
        self.own.normal_(generator=seeds.torch_stream("own"))

    def start_as_parent(self) -> None:
        self.own.data[:, 1:].zero_()
        self.own.data[:, 0].mul_(0.0)


@attrs.frozen(kw_only=True)
class Foreign:
    """Grafted through nothing but what the protocol says."""

    parent: Any = None
    layers: tuple[int, ...] = ()

    def build(self, shape: Any) -> Any:
        if shape.layer in self.layers:
            seen = self.parent.build(shape)
            return Second(shape, window=seen.window, rotary=seen.rotary)
        return self.parent.build(shape)

    def graft(self, parent: Any, layers: Any, context: int) -> Any:
        return attrs.evolve(self, parent=parent, layers=tuple(layers))


def test_attention_of_others_is_grafted_the_same_way() -> None:
    parent = parent_of("limite")
    grafted = graft(parent, Foreign(), (2,))
    assert grafted.new == {"layers.2.self_attn.mixer.own": (4, 8)}
    assert torch.equal(prefilled(grafted.decoder), prefilled(parent))
    assert grafted.difference == 0.0
    with pytest.raises(LimiteError, match="Foreign is not registered as an attention"):
        save_pretrained(grafted.decoder, Path("never"))


def test_layers_that_were_not_asked_for_must_stay() -> None:
    class Everywhere(Foreign):
        def graft(self, parent: Any, layers: Any, context: int) -> Any:
            return Foreign(parent=parent, layers=(0, 1, 2))

    class Wider(Foreign):
        def graft(self, parent: Any, layers: Any, context: int) -> Any:
            return Foreign(parent=Local(window=6), layers=(2,))

    parent = parent_of("limite")
    with pytest.raises(LimiteError, match="more than its layers: layer 0 was 'local 5'"):
        graft(parent, Everywhere(), (2,))
    with pytest.raises(LimiteError, match="layer 0 was 'local 5' and becomes 'local 6'"):
        graft(parent, Wider(), (2,))
    other = build_decoder(parent.spec, attention=Local(window=7))
    with pytest.raises(LimiteError, match="layer 0 was 'local 7' and becomes 'local 5'"):
        graft(other, Simplicial(), (2,))
