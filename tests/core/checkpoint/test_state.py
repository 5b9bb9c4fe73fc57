from __future__ import annotations

import copy
import math
import random
from collections.abc import Callable, Iterable
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn

from limite.core.checkpoint.state import (
    decode,
    encode,
    module_payload,
    optimizer_payload,
    restore_module,
    restore_optimizer,
)
from limite.core.errors import LimiteError
from limite.core.jsonl import dumps, loads

LEAVES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=5),
    st.sampled_from(["$map", "$tuple", "$float", "$tensor"]),
)
KEYS = st.one_of(LEAVES, st.tuples(st.integers(), st.text(max_size=3)))
PLAIN = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.lists(inner, max_size=3).map(tuple),
        st.dictionaries(KEYS, inner, max_size=3),
    ),
    max_leaves=10,
)


@given(PLAIN)
def test_plain_data_comes_back_with_its_types_and_order(value: Any) -> None:
    once = encode(value)
    assert repr(decode(loads(dumps(once, sort_keys=False)))) == repr(value)
    # What is encoded already, as an optimizer's numbers are, may be a part of a state.
    assert repr(decode(loads(dumps(encode(once), sort_keys=False)))) == repr(once)


def test_the_state_of_a_random_stream_survives() -> None:
    stream = random.Random(3)
    stream.gauss(0, 1)
    other = random.Random()
    other.setstate(decode(loads(dumps(encode(stream.getstate())))))
    assert [other.gauss(0, 1) for _ in range(5)] == [stream.gauss(0, 1) for _ in range(5)]


@pytest.mark.parametrize("value", [{1}, b"x", object(), 1j, torch.zeros(1), print])
def test_what_is_not_plain_is_refused_with_its_place(value: Any) -> None:
    with pytest.raises(LimiteError, match=r"state/a/1: .* cannot be saved"):
        encode({"a": [0, value]}, where="state")


class Tied(nn.Module):
    def __init__(self, dtype: torch.dtype = torch.float32) -> None:
        super().__init__()
        self.embed = nn.Linear(4, 4, bias=False, dtype=dtype)
        self.head = nn.Linear(4, 4, bias=False, dtype=dtype)
        self.head.weight = self.embed.weight
        self.gate = nn.Parameter(torch.tensor(0.5, dtype=dtype))
        self.register_buffer("count", torch.tensor(7))
        self.register_buffer("angles", torch.zeros(3), persistent=False)


def filled(module: nn.Module, seed: int) -> nn.Module:
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.copy_(torch.randn(parameter.shape, generator=generator))
    return module


def test_a_module_is_restored_tied_weights_and_scalars_included() -> None:
    saved = {name: tensor.clone() for name, tensor in module_payload(filled(Tied(), 1)).items()}
    assert set(saved) == {"embed.weight", "head.weight", "gate", "count"}
    module = filled(Tied(), 2)
    module.get_buffer("count").fill_(9)
    restore_module(module, saved)
    assert all(torch.equal(tensor, saved[name]) for name, tensor in module.state_dict().items())
    assert module.get_parameter("head.weight") is module.get_parameter("embed.weight")


def test_every_difference_is_listed_and_nothing_is_changed() -> None:
    saved = module_payload(filled(Tied(), 1))
    del saved["gate"]
    saved["embed.weight"] = torch.zeros(4, 5)
    saved["head.weight"] = torch.zeros(4, 4, dtype=torch.bfloat16)
    saved["more"] = torch.zeros(1)
    module = filled(Tied(), 2)
    before = copy.deepcopy(module.state_dict())
    with pytest.raises(LimiteError) as caught:
        restore_module(module, saved)
    assert str(caught.value).splitlines() == [
        "the checkpoint does not fit the model:",
        "  embed.weight: shape [4, 5] in the checkpoint, [4, 4] in the model",
        "  gate: missing in the checkpoint",
        "  head.weight: torch.bfloat16 in the checkpoint, torch.float32 in the model",
        "  more: the model has no such tensor",
    ]
    assert all(torch.equal(tensor, before[name]) for name, tensor in module.state_dict().items())


def test_a_long_list_of_differences_is_cut() -> None:
    with pytest.raises(LimiteError, match="and 84 more"):
        restore_module(Tied(), {f"layer{index}": torch.zeros(1) for index in range(100)})


def test_a_scalar_does_not_pass_for_a_row_of_one() -> None:
    saved = module_payload(Tied())
    saved["gate"] = torch.zeros(1)
    with pytest.raises(LimiteError, match=r"gate: shape \[1\] in the checkpoint, \[\] in"):
        restore_module(Tied(), saved)


class Masters(torch.optim.Optimizer):
    """Weights in bfloat16 beside masters in float32, as torch's own loading would round them."""

    def __init__(self, parameters: Iterable[nn.Parameter], lr: float) -> None:
        super().__init__(parameters, {"lr": lr, "betas": (0.9, math.inf)})

    @torch.no_grad()
    def step(self, closure: Any = None) -> None:
        for group in self.param_groups:
            for parameter in group["params"]:
                state = self.state[parameter]
                if not state:
                    state["master"] = parameter.float()
                    state["inner"] = {"moment": torch.zeros(parameter.shape), "count": 0}
                inner = state["inner"]
                inner["moment"].mul_(0.9).add_(parameter.grad.float())
                inner["count"] += 1
                state["master"] -= group["lr"] * inner["moment"]
                parameter.copy_(state["master"])


class Both(torch.optim.Optimizer):
    """Two optimizers as one, with a state of its own form."""

    def __init__(self, parameters: Iterable[nn.Parameter]) -> None:
        every = list(parameters)
        super().__init__(every, {"lr": 0.1})
        matrices = [parameter for parameter in every if parameter.ndim == 2]
        others = [parameter for parameter in every if parameter.ndim != 2]
        self.inner = {"a": torch.optim.AdamW(matrices), "b": Masters(others, 0.1)}
        self.steps = 0

    def step(self, closure: Any = None) -> None:
        self.steps += 1
        for optimizer in self.inner.values():
            optimizer.step()

    def state_dict(self) -> dict[str, Any]:
        inner = {name: each.state_dict() for name, each in self.inner.items()}
        return {"steps": self.steps, "inner": inner}

    def load_state_dict(self, state_dict: Any) -> None:
        self.steps = state_dict["steps"]
        for name, each in self.inner.items():
            each.load_state_dict(state_dict["inner"][name])


OPTIMIZERS: dict[str, Callable[[Any], torch.optim.Optimizer]] = {
    "adamw": lambda parameters: torch.optim.AdamW(parameters, lr=0.1, amsgrad=True),
    "adamw-named": lambda parameters: torch.optim.AdamW(
        [(f"p{index}", parameter) for index, parameter in enumerate(parameters)], lr=0.1
    ),
    "adamw-tensor-lr": lambda parameters: torch.optim.AdamW(parameters, lr=torch.tensor(0.1)),
    "sgd": lambda parameters: torch.optim.SGD(parameters, lr=0.1, momentum=0.9),
    "nadam": lambda parameters: torch.optim.NAdam(parameters),
    "adafactor": lambda parameters: torch.optim.Adafactor(parameters),
    "masters": lambda parameters: Masters(parameters, 0.1),
    "both": Both,
}


def train(module: nn.Module, optimizer: torch.optim.Optimizer, steps: range) -> None:
    for step in steps:
        for index, parameter in enumerate(module.parameters()):
            generator = torch.Generator().manual_seed(100 * step + index)
            parameter.grad = torch.randn(parameter.shape, generator=generator).to(parameter.dtype)
        optimizer.step()


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("build", OPTIMIZERS.values(), ids=list(OPTIMIZERS))
def test_a_restored_optimizer_goes_on_bit_for_bit(
    build: Callable[[Any], torch.optim.Optimizer], dtype: torch.dtype
) -> None:
    module = filled(Tied(dtype), 1)
    optimizer = build(module.parameters())
    train(module, optimizer, range(3))
    tensors, plain = optimizer_payload(optimizer)
    tensors = {name: tensor.clone() for name, tensor in tensors.items()}
    plain = loads(dumps(plain))
    weights = {name: tensor.clone() for name, tensor in module_payload(module).items()}
    train(module, optimizer, range(3, 6))

    other = filled(Tied(dtype), 2)
    again = build(other.parameters())
    restore_module(other, weights)
    restore_optimizer(again, tensors, plain)
    kept = {name: tensor.clone() for name, tensor in tensors.items()}
    train(other, again, range(3, 6))
    assert all(
        torch.equal(tensor, module.state_dict()[name])
        for name, tensor in other.state_dict().items()
    )
    ended, restored = optimizer_payload(optimizer), optimizer_payload(again)
    assert ended[1] == restored[1]
    assert ended[0].keys() == restored[0].keys()
    assert all(torch.equal(ended[0][name], restored[0][name]) for name in ended[0])
    # Going on must not reach back into what was loaded.
    assert all(torch.equal(tensors[name], kept[name]) for name in kept)


def test_an_optimizer_that_has_not_stepped_yet_can_be_saved() -> None:
    module = Tied()
    tensors, plain = optimizer_payload(torch.optim.AdamW(module.parameters(), lr=0.25))
    other = torch.optim.AdamW(module.parameters(), lr=0.5)
    restore_optimizer(other, tensors, plain)
    assert other.param_groups[0]["lr"] == 0.25


def test_a_state_for_other_parameters_is_refused() -> None:
    tensors, plain = optimizer_payload(torch.optim.AdamW(Tied().parameters()))
    with pytest.raises(LimiteError, match="does not fit the optimizer"):
        restore_optimizer(
            torch.optim.AdamW(nn.Linear(2, 2, bias=False).parameters()), tensors, plain
        )
    with pytest.raises(LimiteError, match="does not fit the optimizer"):
        restore_optimizer(torch.optim.AdamW(Tied().parameters()), tensors, {})


def test_a_state_that_lacks_a_tensor_is_refused() -> None:
    module = filled(Tied(), 1)
    optimizer = torch.optim.AdamW(module.parameters())
    train(module, optimizer, range(1))
    tensors, plain = optimizer_payload(optimizer)
    short = dict(tensors)
    short.popitem()
    with pytest.raises(LimiteError, match="does not fit the optimizer"):
        restore_optimizer(torch.optim.AdamW(module.parameters()), short, plain)


def test_an_optimizer_that_loses_what_it_was_given_is_refused() -> None:
    class Forgetful(Masters):
        def load_state_dict(self, state_dict: Any) -> None:
            super().load_state_dict(state_dict)
            self.state.clear()

    module = filled(Tied(), 1)
    optimizer = Masters(module.parameters(), 0.1)
    train(module, optimizer, range(1))
    tensors, plain = optimizer_payload(optimizer)
    with pytest.raises(LimiteError, match="is not the one it was given"):
        restore_optimizer(Forgetful(module.parameters(), 0.1), tensors, plain)


def test_a_state_with_something_else_in_it_is_refused_by_its_place() -> None:
    class Odd(Masters):
        def state_dict(self) -> dict[str, Any]:
            return {"hook": print}

    with pytest.raises(LimiteError, match=r"hook: builtins\.builtin_function_or_method cannot"):
        optimizer_payload(Odd(Tied().parameters(), 0.1))


def test_extra_state_of_a_module_that_is_no_tensor_is_refused() -> None:
    class Extra(nn.Module):
        def get_extra_state(self) -> Any:
            return {"a": 1}

        def set_extra_state(self, state: Any) -> None:
            del state

    with pytest.raises(LimiteError, match="_extra_state"):
        module_payload(Extra())


def test_tensors_may_be_of_one_value_each() -> None:
    values: dict[str, Tensor] = {}
    plain = encode({"a": torch.tensor(1.5), "b": {3: torch.tensor(True)}}, tensors=values)
    assert set(values) == {"a", "b/3"}
    back = decode(loads(dumps(plain)), values)
    assert back["a"].shape == ()
    assert back["b"][3].dtype is torch.bool
