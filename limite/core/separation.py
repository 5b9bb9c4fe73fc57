"""Which problems are held out for evaluation: decided by what a problem says, never by its seed.

Small families repeat, so a held-out part chosen by seed or by position would turn up again in
training. Here the hash of the normalised text alone decides, and training draws refuse what
belongs to the other side: the parts are disjoint by construction. ``assert_separate`` checks it.
"""

from __future__ import annotations

import hashlib
import unicodedata
from collections.abc import Collection, Mapping

from limite.core.errors import RunFailed

SHARE = 0.1
"""The part of all problems that is held out, unless a caller says otherwise."""


def normalise(text: str) -> str:
    """The text with compatible characters unified (NFKC), case folded, and every run of white
    space and punctuation turned into one space.

    Some operators are punctuation to Unicode, so ``3*5`` and ``3-5`` come out alike. That errs on
    the safe side: look-alike problems always stand on the same side of the split.
    """
    folded = unicodedata.normalize("NFKC", text).casefold()
    return " ".join(folded.translate(_WORDS).split())


def text_hash(text: str) -> str:
    """128 bits of SHA-256 over the normalised text, in hexadecimal."""
    return hashlib.sha256(normalise(text).encode("utf-8", "surrogatepass")).hexdigest()[:32]


def is_held_out(text: str, share: float = SHARE) -> bool:
    """Whether a problem with this text is kept for evaluation; true of about ``share`` of texts.

    A larger share holds out everything that a smaller one does.
    """
    if not 0.0 < share < 1.0:
        raise ValueError(f"the held-out share lies between 0 and 1, got {share}")
    return int(text_hash(text)[:16], 16) < share * 2**64


def assert_separate(
    training: Collection[str], held_out: Collection[str] | Mapping[str, str]
) -> None:
    """Raises RunFailed, with examples, when a content hash stands on both sides.

    ``held_out`` may map hashes to texts, which then name the examples.
    """
    shared = sorted(set(held_out).intersection(training))
    if shared:
        names = held_out if isinstance(held_out, Mapping) else {}
        examples = ", ".join(repr(names.get(one, one)) for one in shared[:3])
        raise RunFailed(
            f"{len(shared)} held-out problems were also trained on, such as {examples}; "
            "the score of this evaluation would not mean ability"
        )


def _parts_words(mark: str) -> bool:
    return mark.isspace() or unicodedata.category(mark)[0] == "P"


class _Words(dict[int, str]):
    """Every character as it stands in a normalised text, looked up once: ten times as fast."""

    def __missing__(self, code: int) -> str:
        mark = chr(code)
        self[code] = " " if _parts_words(mark) else mark
        return self[code]


_WORDS = _Words()
