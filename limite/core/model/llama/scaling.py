"""How rotary frequencies are stretched for contexts longer than the first, as settings."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import ClassVar

import attrs
from attrs.validators import and_, ge, gt, le, optional

_factor = and_(ge(1.0), le(1e6))
_context = and_(ge(1), le(2**30))
_positive = and_(gt(0.0), le(1e6))


@attrs.frozen(kw_only=True)
class RopeScaling:
    """What becomes of the frequencies ``base^(-2j / head_width)`` of the channel pairs j."""

    kinds: ClassVar[Mapping[str, type[RopeScaling]]] = {}
    """What ``type`` says in settings files, and the class it stands for."""

    default_kind: ClassVar[str] = "none"

    @property
    def strength(self) -> float:
        """By what cosines and sines are multiplied."""
        return 1.0


@attrs.frozen(kw_only=True)
class NoScaling(RopeScaling):
    """Frequencies as they are."""

    kind: ClassVar[str] = "none"


@attrs.frozen(kw_only=True)
class LinearScaling(RopeScaling):
    """Every frequency divided by ``factor``: positions lie closer together."""

    kind: ClassVar[str] = "linear"

    factor: float = attrs.field(validator=_factor, metadata={"help": "contexts longer by so much"})


@attrs.frozen(kw_only=True)
class Llama3Scaling(RopeScaling):
    """Low frequencies divided by ``factor``, high ones kept, those between blended.

    A frequency is low if it turns fewer than ``low_freq_factor`` times in ``original_context``
    tokens, and high if it turns more than ``high_freq_factor`` times.
    """

    kind: ClassVar[str] = "llama3"

    factor: float = attrs.field(validator=_factor, metadata={"help": "contexts longer by so much"})
    low_freq_factor: float = attrs.field(
        default=1.0,
        validator=_positive,
        metadata={"help": "turns in the first context below which a frequency is low"},
    )
    high_freq_factor: float = attrs.field(
        default=4.0,
        validator=_positive,
        metadata={"help": "turns in the first context above which a frequency is high"},
    )
    original_context: int = attrs.field(
        validator=_context,
        metadata={"unit": "tokens", "help": "the context that the frequencies are of"},
    )

    def __attrs_post_init__(self) -> None:
        if self.high_freq_factor <= self.low_freq_factor:
            raise ValueError(
                f"'high_freq_factor' ({self.high_freq_factor:g}) must be above "
                f"'low_freq_factor' ({self.low_freq_factor:g})"
            )


@attrs.frozen(kw_only=True)
class YarnScaling(RopeScaling):
    """YaRN (arXiv 2309.00071): blended by the number of the pair, and turns made longer.

    Pairs that turn more than ``beta_fast`` times in ``original_context`` tokens are kept, those
    that turn less than ``beta_slow`` times are divided by ``factor``.
    """

    kind: ClassVar[str] = "yarn"

    factor: float = attrs.field(validator=_factor, metadata={"help": "contexts longer by so much"})
    original_context: int = attrs.field(
        validator=_context,
        metadata={"unit": "tokens", "help": "the context that the frequencies are of"},
    )
    beta_fast: float = attrs.field(
        default=32.0,
        validator=_positive,
        metadata={"help": "turns in the first context above which a pair is kept"},
    )
    beta_slow: float = attrs.field(
        default=1.0,
        validator=_positive,
        metadata={"help": "turns in the first context below which a pair is divided by factor"},
    )
    attention_factor: float | None = attrs.field(
        default=None,
        validator=optional(_positive),
        metadata={"help": "length of the turns; None: from the factor and the two mscales"},
    )
    mscale: float | None = attrs.field(
        default=None,
        validator=optional(_positive),
        metadata={"help": "with mscale_all: how the turns' length grows with the factor"},
    )
    mscale_all: float | None = attrs.field(
        default=None,
        validator=optional(_positive),
        metadata={"help": "what that length is divided by, reckoned in the same way"},
    )
    truncate: bool = attrs.field(
        default=True, metadata={"help": "whether the bounds of the blend are whole pairs"}
    )

    def __attrs_post_init__(self) -> None:
        wrong = []
        if self.beta_fast < self.beta_slow:
            wrong.append(
                f"'beta_fast' ({self.beta_fast:g}) must be at least "
                f"'beta_slow' ({self.beta_slow:g})"
            )
        if (self.mscale is None) != (self.mscale_all is None):
            wrong.append("'mscale' and 'mscale_all' count only together: set both, or neither")
        if wrong:
            raise ValueError("\n".join(wrong))

    @property
    def strength(self) -> float:
        if self.attention_factor is not None:
            return self.attention_factor
        if self.mscale is not None and self.mscale_all is not None:
            return self._length(self.mscale) / self._length(self.mscale_all)
        return self._length(1.0)

    def _length(self, scale: float) -> float:
        return 0.1 * scale * math.log(self.factor) + 1.0


RopeScaling.kinds = {
    cls.kind: cls for cls in (NoScaling, LinearScaling, Llama3Scaling, YarnScaling)
}
