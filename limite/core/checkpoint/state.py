"""Modules and optimizers as tensors and JSON, and back, without losing a bit. No pickle."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Protocol

import torch
from torch import Tensor, nn

from limite.core.errors import LimiteError

_MOST_LISTED = 20

# What JSON lacks is written as an object of one such key.
_FLOAT, _TUPLE, _MAP, _TENSOR = "$float", "$tuple", "$map", "$tensor"
_TAGS = {_FLOAT, _TUPLE, _MAP, _TENSOR}


def encode(value: Any, *, tensors: dict[str, Tensor] | None = None, where: str = "") -> Any:
    """Plain data as JSON that ``decode`` turns back into the same value, types included.

    Tuples, non-finite floats and keys that are not text survive. Tensors go into ``tensors`` under
    the path they stood at; without that, they are refused like any other object.
    """
    if value is None or type(value) in (bool, int, str):
        return value
    if type(value) is float:
        return value if math.isfinite(value) else {_FLOAT: str(value)}
    if type(value) in (list, tuple):
        items = [
            encode(item, tensors=tensors, where=f"{where}/{index}")
            for index, item in enumerate(value)
        ]
        return items if type(value) is list else {_TUPLE: items}
    if isinstance(value, Mapping):
        items = [
            (key, encode(item, tensors=tensors, where=f"{where}/{key}"))
            for key, item in value.items()
        ]
        if all(type(key) is str for key in value) and not _TAGS & value.keys():
            return dict(items)
        return {_MAP: [[encode(key, where=where), item] for key, item in items]}
    if isinstance(value, Tensor) and tensors is not None:
        name = where.lstrip("/")
        if name in tensors:
            raise LimiteError(f"two tensors would be stored as {name!r}")
        tensors[name] = value.detach()
        return {_TENSOR: name}
    raise LimiteError(
        f"{where or 'value'}: {type(value).__module__}.{type(value).__qualname__} cannot be saved; "
        "a state is numbers, text, None, lists, tuples and mappings"
        + ("" if tensors is None else ", and tensors")
    )


def decode(value: Any, tensors: Mapping[str, Tensor] | None = None, *, taken: bool = False) -> Any:
    """The value that ``encode`` was given; with ``taken`` it holds ``tensors`` themselves."""
    if isinstance(value, list):
        return [decode(item, tensors, taken=taken) for item in value]
    if not isinstance(value, Mapping):
        return value
    tag = next(iter(value)) if len(value) == 1 else None
    if tag == _FLOAT:
        return float(value[_FLOAT])
    if tag == _TUPLE:
        return tuple(decode(item, tensors, taken=taken) for item in value[_TUPLE])
    if tag == _MAP:
        return {
            decode(key, tensors): decode(item, tensors, taken=taken) for key, item in value[_MAP]
        }
    if tag == _TENSOR and tensors is not None:
        # A copy: whoever restores from it goes on to change it in place.
        tensor = tensors[value[_TENSOR]]
        return tensor if taken else tensor.clone()
    return {key: decode(item, tensors, taken=taken) for key, item in value.items()}


def module_payload(module: nn.Module) -> dict[str, Tensor]:
    """Every parameter and persistent buffer of ``module`` in its own dtype."""
    payload = {}
    for name, value in module.state_dict().items():
        if not isinstance(value, Tensor):
            raise LimiteError(f"{name}: extra state that is no tensor cannot be saved")
        payload[name] = value.detach()
    return payload


class Shaped(Protocol):
    """A tensor, or what is known of one."""

    @property
    def shape(self) -> tuple[int, ...]: ...
    @property
    def dtype(self) -> torch.dtype: ...


def refuse_misfits(own: Mapping[str, Shaped], tensors: Mapping[str, Shaped]) -> None:
    """Refuses saved tensors whose names, shapes and dtypes are not those of a module's ``own``."""
    differences = []
    for name in sorted(own.keys() | tensors.keys()):
        if name not in tensors:
            differences.append(f"{name}: missing in the checkpoint")
        elif name not in own:
            differences.append(f"{name}: the model has no such tensor")
        elif own[name].shape != tensors[name].shape:
            saved, wanted = list(tensors[name].shape), list(own[name].shape)
            differences.append(f"{name}: shape {saved} in the checkpoint, {wanted} in the model")
        elif own[name].dtype != tensors[name].dtype:
            saved_dtype, wanted_dtype = tensors[name].dtype, own[name].dtype
            differences.append(
                f"{name}: {saved_dtype} in the checkpoint, {wanted_dtype} in the model"
            )
    if differences:
        hidden = len(differences) - _MOST_LISTED
        more = [f"and {hidden} more"] if hidden > 0 else []
        listing = "\n  ".join([*differences[:_MOST_LISTED], *more])
        raise LimiteError(f"the checkpoint does not fit the model:\n  {listing}")


def restore_module(module: nn.Module, tensors: Mapping[str, Tensor]) -> None:
    """Puts saved tensors into ``module``. Names, shapes and dtypes must be exactly its own.

    Otherwise a LimiteError lists the differences, and the module is as it was.
    """
    own = module_payload(module)
    refuse_misfits(own, tensors)
    with torch.no_grad():
        for name, tensor in own.items():
            tensor.copy_(tensors[name])


def optimizer_payload(optimizer: torch.optim.Optimizer) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """The state of an optimizer as tensors by path, and JSON that says where each belongs."""
    tensors: dict[str, Tensor] = {}
    plain = encode(optimizer.state_dict(), tensors=tensors)
    return tensors, plain


def restore_optimizer(
    optimizer: torch.optim.Optimizer,
    tensors: Mapping[str, Tensor],
    plain: Mapping[str, Any],
    *,
    taken: bool = False,
) -> None:
    """Gives ``optimizer``, built over the same parameters, the state that was saved, bit for bit.

    It is read back afterwards: an optimizer that does not take exactly what it gave is refused.
    With ``taken`` it may hold ``tensors`` themselves, of which nobody else makes use then.
    """
    try:
        saved = decode(plain, tensors, taken=taken)
        optimizer.load_state_dict(decode(plain, tensors, taken=taken))
    except (KeyError, ValueError, TypeError, RuntimeError) as error:
        raise LimiteError(f"the saved state does not fit the optimizer: {error}") from error
    # torch casts moments to the dtype of their parameter as it loads; masters in float32 beside
    # weights in bfloat16 would lose bits, so they are put back as they were.
    _put_back(optimizer.state_dict(), saved)
    again, plain_again = optimizer_payload(optimizer)
    if plain_again != plain or again.keys() != tensors.keys():
        raise LimiteError("the optimizer's state is not the one it was given: other settings")
    for name, tensor in tensors.items():
        if not _same_bits(again[name], tensor):
            raise LimiteError(f"the optimizer's state is not the one it was given: {name} differs")


def _put_back(current: Any, saved: Any) -> None:
    """Replaces, inside the dicts an optimizer hands out, tensors that loading has changed."""
    if isinstance(current, dict) and isinstance(saved, dict):
        for key in current.keys() & saved.keys():
            now, before = current[key], saved[key]
            if isinstance(now, Tensor) and isinstance(before, Tensor):
                if not _same_bits(now, before):
                    current[key] = before.to(now.device)
            else:
                _put_back(now, before)
    elif isinstance(current, (list, tuple)) and isinstance(saved, (list, tuple)):
        for now, before in zip(current, saved, strict=False):
            _put_back(now, before)


def _same_bits(left: Tensor, right: Tensor) -> bool:
    if left.dtype != right.dtype or left.shape != right.shape:
        return False
    both = (tensor.detach().cpu().contiguous().reshape(-1) for tensor in (left, right))
    first, second = (tensor.view(torch.uint8) for tensor in both)
    return torch.equal(first, second)
