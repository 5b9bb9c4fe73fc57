"""Laws of optimizers: what exact resuming and schedules rely on."""

from __future__ import annotations

import copy
import functools
import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import attrs
import torch
from hypothesis import strategies as st
from torch import Tensor, nn

from limite.core.kinds import Optimizer
from limite.plugins.conformance.strategies import drawn

# A table, hidden matrices lying, standing and square, a gate, a vector, a scalar.
SHAPES: Mapping[str, tuple[int, ...]] = {
    "embed_tokens.weight": (5, 4),
    "layers.0.up_proj.weight": (6, 4),
    "layers.0.down_proj.weight": (4, 6),
    "layers.0.q_proj.weight": (4, 4),
    "layers.0.k_proj.weight": (4, 4),
    "layers.0.attn_gate": (2, 3),
    "layers.0.bias": (4,),
    "scale": (),
}
COUNT = sum(torch.Size(shape).numel() for shape in SHAPES.values())
GRADIENTS = (1.0, -1.0, 0.0, 0.25, -1e-3, 1e-8, 30.0)

numbers = st.lists(st.sampled_from(GRADIENTS), min_size=7, max_size=7)


def optimizer_laws(component: Optimizer) -> dict[str, Callable[[], None]]:
    """A test per law of optimizers, by name."""
    return {
        law.__name__: functools.partial(law, component)
        for law in (
            it_trains_every_parameter_once,
            a_rate_of_zero_moves_nothing,
            zero_gradient_and_zero_decay_move_nothing,
            a_parameter_without_gradient_stays,
            the_first_step_goes_downhill,
            the_same_course_gives_the_same_bits,
            its_state_goes_through_a_checkpoint,
        )
    }


def parameters(values: list[float]) -> dict[str, nn.Parameter]:
    """Named parameters of every form, filled from the drawn values."""
    return {name: nn.Parameter(tensor) for name, tensor in shaped(values)}


def shaped(values: list[float]) -> Iterator[tuple[str, Tensor]]:
    """The drawn values laid out in every shape; lengths without a common factor, so no two
    parameters are alike."""
    flat = torch.tensor(values, dtype=torch.float32).repeat(COUNT // len(values) + 1)
    start = 0
    for name, shape in SHAPES.items():
        size = torch.Size(shape).numel()
        yield name, flat[start : start + size].reshape(shape).clone()
        start += size


def give_gradients(named: Mapping[str, nn.Parameter], values: list[float]) -> None:
    for name, gradient in shaped(values):
        named[name].grad = gradient


def without_decay(component: Optimizer) -> Optimizer:
    """The component with a ``weight_decay`` of 0, where it has one."""
    settings: Any = component
    if hasattr(settings, "weight_decay"):
        settings = attrs.evolve(settings, weight_decay=0.0)
    without: Optimizer = settings
    return without


def copies(named: Mapping[str, nn.Parameter]) -> dict[str, Tensor]:
    return {name: parameter.detach().clone() for name, parameter in named.items()}


def assert_same(actual: Mapping[str, Tensor], expected: Mapping[str, Tensor], why: str) -> None:
    for name, value in expected.items():
        assert torch.equal(actual[name].detach(), value.detach()), f"{name}: {why}"


def it_trains_every_parameter_once(component: Optimizer) -> None:
    named = parameters([1.0])
    optimizer = component.build(named.items())
    held = [id(parameter) for group in optimizer.param_groups for parameter in group["params"]]
    assert sorted(held) == sorted(map(id, named.values())), "some parameter is left out or doubled"
    for group in optimizer.param_groups:
        assert group.get("initial_lr") == group["lr"], (
            "a group lacks 'initial_lr', which schedules multiply"
        )


def a_rate_of_zero_moves_nothing(component: Optimizer) -> None:
    @drawn(start=numbers, gradient=numbers)
    def check(start: list[float], gradient: list[float]) -> None:
        named = parameters(start)
        before = copies(named)
        optimizer = component.build(named.items())
        for group in optimizer.param_groups:
            group["lr"] = 0.0
        give_gradients(named, gradient)
        optimizer.step()
        assert_same(named, before, "moved at a rate of 0")

    check()


def zero_gradient_and_zero_decay_move_nothing(component: Optimizer) -> None:
    @drawn(start=numbers)
    def check(start: list[float]) -> None:
        named = parameters(start)
        before = copies(named)
        optimizer = without_decay(component).build(named.items())
        give_gradients(named, [0.0])
        optimizer.step()
        assert_same(named, before, "moved without gradient and without decay")

    check()


def a_parameter_without_gradient_stays(component: Optimizer) -> None:
    @drawn(start=numbers, gradient=numbers, left_out=st.sampled_from(list(SHAPES)))
    def check(start: list[float], gradient: list[float], left_out: str) -> None:
        named = parameters(start)
        before = copies(named)
        optimizer = component.build(named.items())
        give_gradients(named, gradient)
        named[left_out].grad = None
        optimizer.step()
        assert torch.equal(named[left_out].detach(), before[left_out]), (
            f"{left_out} moved although its gradient is None"
        )

    check()


def the_first_step_goes_downhill(component: Optimizer) -> None:
    @drawn(start=numbers, gradient=numbers)
    def check(start: list[float], gradient: list[float]) -> None:
        named = parameters(start)
        before = copies(named)
        optimizer = without_decay(component).build(named.items())
        give_gradients(named, gradient)
        slopes = {name: p.grad.clone() for name, p in named.items() if p.grad is not None}
        optimizer.step()
        for name, slope in slopes.items():
            along = float(((named[name].detach() - before[name]) * slope).sum())
            assert along <= 0.0, f"{name}: the first step goes uphill by {along}"
            if float(slope.abs().max()) >= 1.0:
                assert along < 0.0, f"{name}: a gradient of 1 moves nothing"

    check()


def run(optimizer: torch.optim.Optimizer, named: Any, gradients: list[list[float]]) -> None:
    for gradient in gradients:
        give_gradients(named, gradient)
        optimizer.step()


several = st.lists(numbers, min_size=1, max_size=3)


def the_same_course_gives_the_same_bits(component: Optimizer) -> None:
    @drawn(start=numbers, gradients=several)
    def check(start: list[float], gradients: list[list[float]]) -> None:
        first, second = parameters(start), parameters(start)
        for named in (first, second):
            run(component.build(named.items()), named, gradients)
        assert_same(first, second, "the same steps gave other weights")

    check()


def its_state_goes_through_a_checkpoint(component: Optimizer) -> None:
    @drawn(start=numbers, before=several, after=several)
    def check(start: list[float], before: list[list[float]], after: list[list[float]]) -> None:
        named = parameters(start)
        optimizer = component.build(named.items())
        run(optimizer, named, before)
        saved = through_plain_data(optimizer.state_dict())
        resumed = {name: nn.Parameter(value) for name, value in copies(named).items()}
        run(optimizer, named, after)
        other = component.build(resumed.items())
        other.load_state_dict(saved)
        run(other, resumed, after)
        assert_same(resumed, named, "a resumed run leaves the course of the one never stopped")

    check()


def through_plain_data(state: dict[str, Any]) -> dict[str, Any]:
    """A state as a checkpoint keeps it: copies of tensors, and the rest through JSON."""
    kept: dict[int, dict[str, Any]] = {}
    for index, values in state["state"].items():
        kept[index] = {}
        for name, value in values.items():
            if isinstance(value, Tensor):
                kept[index][name] = copy.deepcopy(value)
            else:
                kept[index][name] = json.loads(json.dumps(value))
    return {"state": kept, "param_groups": json.loads(json.dumps(state["param_groups"]))}
