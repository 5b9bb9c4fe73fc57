"""What the annotation of a settings field asks for."""

from __future__ import annotations

import types
from collections.abc import Mapping, MutableMapping, MutableSequence, Sequence, Set
from typing import Any, Literal, Union, get_args, get_origin

import attrs

from limite.core.kinds import KINDS

_KIND_OF = {protocol: kind for kind, protocol in KINDS.items()}
_ARRAYS = (tuple, list, Sequence, MutableSequence, set, frozenset, Set)
_MAPPINGS = (dict, Mapping, MutableMapping)


def is_union(expected: Any) -> bool:
    return get_origin(expected) in (Union, types.UnionType)


def arms_of(expected: Any) -> list[Any]:
    """The members of a union; the type alone when it is none."""
    return list(get_args(expected)) if is_union(expected) else [expected]


def component_kind(expected: Any) -> str | None:
    """``"objective"`` for ``Objective``, ``Objective | str``, ``Objective | str | None``."""
    for arm in arms_of(expected):
        try:
            kind = _KIND_OF.get(arm)
        except TypeError:  # an annotation that cannot be hashed is no protocol of ours
            continue
        if kind is not None:
            return kind
    return None


def a_kind(kind: str) -> str:
    """``"an objective"``, ``"a lr schedule"``: a kind in a sentence."""
    return f"{'an' if kind[0] in 'aeiol' and kind != 'logger' else 'a'} {kind.replace('_', ' ')}"


def is_attrs(expected: Any) -> bool:
    return isinstance(expected, type) and attrs.has(expected)


def is_literal(expected: Any) -> bool:
    return get_origin(expected) is Literal


def is_mapping(expected: Any) -> bool:
    return expected in _MAPPINGS or get_origin(expected) in _MAPPINGS


def is_array(expected: Any) -> bool:
    return expected in _ARRAYS or get_origin(expected) in _ARRAYS
