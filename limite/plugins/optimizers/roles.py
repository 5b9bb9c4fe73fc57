"""Which weights are hidden matrices, and which are tables, gates, vectors and scalars."""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import nn

Named = list[tuple[str, nn.Parameter]]


def is_hidden_matrix(name: str, parameter: nn.Parameter) -> bool:
    """Whether ``parameter`` maps one hidden vector to another.

    Not so: anything of rank 0 or 1; tables of embeddings (a part of the name contains ``embed``);
    output heads (a part ends in ``head``); small gates (a part ends in ``gate``, as ``attn_gate``;
    ``gate_proj`` is a hidden matrix).
    """
    if parameter.ndim < 2:
        return False
    parts = name.split(".")
    return not any("embed" in part or part.endswith(("head", "gate")) for part in parts)


def whole_shape(parameter: nn.Parameter) -> torch.Size:
    """The shape of a parameter, or of that which it holds some rows of."""
    return getattr(parameter, "whole_shape", parameter.shape)


def split(named_parameters: Iterable[tuple[str, nn.Parameter]]) -> tuple[Named, Named]:
    """Hidden matrices, and everything else, among the parameters that train."""
    matrices: Named = []
    others: Named = []
    for name, parameter in named_parameters:
        if parameter.requires_grad:
            (matrices if is_hidden_matrix(name, parameter) else others).append((name, parameter))
    return matrices, others
