"""The first values of a decoder's parameters."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterator
from typing import Any, TypeVar, cast

import torch
from torch import Tensor, nn
from torch.nn.modules.module import register_module_parameter_registration_hook

from limite.core.kinds import Attention
from limite.core.model.attention import AttentionMixer
from limite.core.model.decoder import Decoder
from limite.core.model.limite import LimiteDecoder
from limite.core.model.llama.decoder import LlamaDecoder
from limite.core.model.llama.spec import LlamaSpec
from limite.core.model.resolve import attention_component
from limite.core.model.settings import DecoderSpec
from limite.core.model.spec import ModelSpec
from limite.core.seeds import Seeds

Module = TypeVar("Module", bound=nn.Module)


def build_decoder(
    spec: DecoderSpec,
    seed: int | Seeds = 0,
    *,
    dtype: torch.dtype = torch.float32,
    device: torch.device | str = "cpu",
    attention: Attention | None = None,
) -> Decoder:
    """A decoder with seeded values, ready to train. On the meta device: shapes only.

    ``attention`` stands in for the one the spec names.
    """
    decoder = unset_decoder(spec, dtype=dtype, device=device, attention=attention)
    if torch.device(device).type != "meta":
        initialise(decoder, seed if isinstance(seed, Seeds) else Seeds(seed))
    return decoder


def unset_decoder(
    spec: DecoderSpec,
    *,
    dtype: torch.dtype = torch.float32,
    device: torch.device | str = "cpu",
    attention: Attention | None = None,
    head: bool = True,
) -> Decoder:
    """A decoder whose parameters hold what memory happened to hold, for weights to be read into.

    Without ``head`` it has no output head but the token table.
    """
    component = attention if attention is not None else attention_component(spec.attention)
    with torch.device(device):
        if isinstance(spec, ModelSpec):
            return LimiteDecoder(spec, component, dtype=dtype)
        if isinstance(spec, LlamaSpec):
            return LlamaDecoder(spec, component, dtype=dtype, head=head)
    raise TypeError(f"no family of decoders is built from {type(spec).__name__}")


@torch.no_grad()
def initialise(decoder: Decoder, seeds: Seeds) -> None:
    """Fills every parameter. Each draws from a stream of its own name.

    Projections are normal with variance 1 / fan-in, those that write to the stream smaller by the
    square root of twice the depth. Norms' weights, scales and residual scalars are 1, biases 0,
    gates 0 (a factor of 1), XSA off, and mixtures pick the current stream alone: every layer
    starts as a plain pre-norm block.
    An attention with parameters of its own fills them itself.
    """
    for name, parameter in decoder.named_parameters():
        _fill(decoder, name, parameter, seeds)
    for name, module in decoder.named_modules():
        if isinstance(module, AttentionMixer):
            module.initialise(seeds.child("init", name))


@torch.no_grad()
def initial_values(decoder: Decoder, seeds: Seeds) -> Iterator[tuple[str, Tensor]]:
    """What ``initialise`` gives the parameters of ``decoder``, which may be a skeleton: each by
    its name, one at a time in host memory, or those of one attention together."""
    mixers: dict[str, AttentionMixer] = {}
    for name, module in decoder.named_modules():
        if isinstance(module, AttentionMixer) and not name.startswith(tuple(_inside(mixers))):
            mixers[name] = module
    for name, parameter in decoder.named_parameters():
        if not name.startswith(tuple(_inside(mixers))):
            values = torch.empty_like(parameter, device="cpu")
            _fill(decoder, name, values, seeds)
            yield name, values
    for place, mixer in mixers.items():
        made = with_memory(copy.deepcopy(mixer), "cpu")
        for name, parameter in made.named_parameters():
            _fill(decoder, f"{place}.{name}", parameter, seeds)
        for name, module in made.named_modules():
            if isinstance(module, AttentionMixer):
                module.initialise(seeds.child("init", f"{place}.{name}" if name else place))
        for name, parameter in made.named_parameters():
            yield f"{place}.{name}", parameter.detach()


def _inside(mixers: dict[str, AttentionMixer]) -> list[str]:
    return [f"{name}." for name in mixers]


def _fill(decoder: Decoder, name: str, parameter: Tensor, seeds: Seeds) -> None:
    """Gives ``parameter`` the first values of the decoder's parameter of that name."""
    shrink = 1.0 / math.sqrt(2 * decoder.spec.layers)
    last = name.removesuffix(".weight").rsplit(".", 1)[-1]
    if last in ("bias", "bias_mlp") and isinstance(decoder, LimiteDecoder):
        _pick_current(decoder, parameter)
    elif last in ONES:
        parameter.fill_(1.0)
    elif last in ZEROS:
        parameter.zero_()
    elif last in MATRICES:
        spread = parameter.shape[-1] ** -0.5 * (shrink if last in WRITERS else 1.0)
        generator = seeds.torch_stream("init", name)
        values = torch.empty(parameter.shape, dtype=torch.float32, device="cpu")
        parameter.copy_(values.normal_(0.0, spread, generator=generator))


def skeleton(make: Callable[[], Module]) -> Module:
    """What ``make`` gives, with parameters that have shapes and no memory; buffers are as ever."""

    def without_memory(_: nn.Module, __: str, parameter: nn.Parameter | None) -> Any:
        if parameter is None:
            return None
        return nn.Parameter(parameter.detach().to("meta"), requires_grad=parameter.requires_grad)

    hook = register_module_parameter_registration_hook(without_memory)
    try:
        return make()
    finally:
        hook.remove()


def with_memory(module: Module, device: torch.device | str) -> Module:
    """``module`` itself, whose parameters without memory have some now, of whatever it held."""

    def given(tensor: Tensor) -> Tensor:
        bare = tensor.device.type == "meta"
        return torch.empty_like(tensor, device=device) if bare else tensor

    cast(Any, module)._apply(given)
    return module


WRITERS = frozenset({"o_proj", "down_proj"})
MATRICES = WRITERS | {
    "embed_tokens", "lm_head", "value_embeds", "q_proj", "k_proj", "v_proj", "gate_proj",
    "up_proj", "dense1",
}  # fmt: skip
ONES = frozenset(
    {"qkv_scale", "o_scale", "q_norm", "k_norm", "norm"}
    | {"input_layernorm", "post_attention_layernorm"}
    | {f"{way}_lambda_{part}" for way in ("resid", "post") for part in ("attn", "mlp")}
)
ZEROS = frozenset({"bias", "xsa_alpha", "attn_gate", "ve_gate", "dense2", "dense2_mlp"})


def _pick_current(decoder: LimiteDecoder, bias: Tensor) -> None:
    """Weight 1 for the state that is the layer's own stream, 0 for the others."""
    bias.zero_()
    for layer, states in decoder.taps.items():
        bias[layer, states.index(layer) if layer in states else -1] = 1.0


def count_parameters(decoder: nn.Module) -> int:
    """Every parameter once, padded rows of the tables included."""
    return sum(parameter.numel() for parameter in decoder.parameters())
