"""When a text repeats itself: few distinct windows of words among all of them.

``RepetitionDetector.repetitive`` says it of a whole text. ``Repetitions`` says the same of the
growing texts of many rows, at a cost that depends on what is new only.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence

import attrs
from attrs.validators import ge, gt, le

RULE = (
    "words: str.split; fewer than min_words: not repetitive; "
    "windows: every window_words words in a row; "
    "repetitive: distinct windows / windows < threshold"
)
UNSETTLED = "\ufffd"  # what stands for the bytes of a character that is not whole
MOST_HELD = 4  # tokens; no character has more bytes
WORD_BITS = 32  # of a word's number within its row


@attrs.frozen(kw_only=True)
class RepetitionDetector:
    """A text is repetitive where fewer than ``threshold`` of its word windows are distinct."""

    min_words: int = attrs.field(
        default=500,
        validator=ge(1),
        metadata={"unit": "words", "help": "a shorter text is never called repetitive"},
    )
    window_words: int = attrs.field(
        default=4,
        validator=ge(1),
        metadata={"unit": "words", "help": "in a row, that make a window"},
    )
    threshold: float = attrs.field(
        default=0.15,
        validator=[gt(0.0), le(1.0)],
        metadata={"help": "share of windows that are distinct, below which a text is repetitive"},
    )
    every_tokens: int = attrs.field(
        default=512,
        validator=ge(1),
        metadata={"unit": "tokens", "help": "generated tokens from one check to the next"},
    )

    @property
    def identity(self) -> str:
        """Name and content hash, as run records have it: settings and rule, nothing else."""
        content = {"rule": RULE, "settings": attrs.asdict(self)}
        text = json.dumps(content, sort_keys=True, separators=(",", ":"))
        return f"word-windows:{hashlib.sha256(text.encode()).hexdigest()[:16]}"

    def due(self, generated_tokens: int) -> bool:
        """Whether a response of so many tokens is to be checked now."""
        return generated_tokens > 0 and generated_tokens % self.every_tokens == 0

    def repetitive(self, text: str) -> bool:
        """Whether a whole text, decoded without special tokens, repeats itself."""
        words = text.split()
        windows = {
            tuple(words[start : start + self.window_words])
            for start in range(len(words) - self.window_words + 1)
        }
        return self.judge(len(words), len(windows))

    def judge(self, words: int, distinct_windows: int) -> bool:
        """The verdict on a text of so many words, with so many distinct windows."""
        windows = words - self.window_words + 1
        if words < self.min_words or windows < 1:
            return False
        return distinct_windows / windows < self.threshold


class Repetitions:
    """The verdicts on growing texts, one per row; rows follow those of the sampler."""

    def __init__(self, detector: RepetitionDetector, rows: int) -> None:
        self.detector = detector
        self._rows = [_Words(detector.window_words) for _ in range(rows)]

    def __len__(self) -> int:
        return len(self._rows)

    def feed(self, pieces: Sequence[str]) -> None:
        """Takes in what is new of each row's text; pieces may end within a word."""
        for row, piece in zip(self._rows, pieces, strict=True):
            row.feed(piece)

    def repetitive(self) -> list[bool]:
        """For each row, what ``RepetitionDetector.repetitive`` says of all it was fed."""
        return [self.detector.judge(*row.counts()) for row in self._rows]

    def select(self, rows: Sequence[int]) -> None:
        """Keeps these rows, in this order; one named more than once goes on as two of its own."""
        taken: set[int] = set()
        kept: list[_Words] = []
        for row in rows:
            kept.append(self._rows[row].copy() if row in taken else self._rows[row])
            taken.add(row)
        self._rows = kept

    def copy(self) -> Repetitions:
        """The same state, on its own from now on."""
        other = Repetitions(self.detector, 0)
        other._rows = [row.copy() for row in self._rows]
        return other


class Texts:
    """The texts of the rows of a batch, read from their tokens as these come."""

    def __init__(self, detector: RepetitionDetector, rows: int) -> None:
        self.detector = detector
        self._texts = Repetitions(detector, rows)
        self._read = [0] * rows  # tokens

    def select(self, rows: Sequence[int]) -> None:
        """Keeps these rows, in this order; see ``Repetitions.select``."""
        self._texts.select(rows)
        self._read = [self._read[row] for row in rows]

    def repetitive(
        self, tokens: Mapping[int, Sequence[int]], decode: Callable[[Sequence[int]], str]
    ) -> list[int]:
        """Those of the rows in ``tokens`` (all they have so far) that repeat themselves.

        A character may take several tokens: those of one that is not whole yet wait for the rest.
        """
        pieces = [""] * len(self._read)
        for row, ids in tokens.items():
            new = ids[self._read[row] :]
            pieces[row], taken = settled(new, decode)
            self._read[row] += taken
        self._texts.feed(pieces)
        verdicts = self._texts.repetitive()
        return [row for row in tokens if verdicts[row]]


def settled(ids: Sequence[int], decode: Callable[[Sequence[int]], str]) -> tuple[str, int]:
    """The text of ``ids`` without a last character that is not whole, and how many were read."""
    for held in range(min(MOST_HELD, len(ids)) + 1):
        text = decode(ids[: len(ids) - held])
        if not text.endswith(UNSETTLED):
            return text, len(ids) - held
    return decode(ids), len(ids)  # no character is that long: the tokens mean nothing


class _Words:
    """The distinct windows of one text, without the text.

    A window is the numbers of its words in one integer: exact, unlike a hash, and as small.
    """

    def __init__(self, window_words: int) -> None:
        self._window_words = window_words
        self._mask = (1 << WORD_BITS * window_words) - 1
        self._numbers: dict[str, int] = {}
        self._windows: set[int] = set()
        self._latest = 0  # the window that ends with the last finished word
        self._finished = 0  # words
        self._open: list[str] = []  # parts of a word that may go on

    def feed(self, piece: str) -> None:
        if not piece:
            return
        words = piece.split()
        if piece[0].isspace():
            self._finish()
        for place, word in enumerate(words):
            if place:
                self._finish()
            self._open.append(word)
        if piece[-1].isspace():
            self._finish()

    def counts(self) -> tuple[int, int]:
        """Words and distinct windows, the unfinished word counted as it stands."""
        if not self._open:
            return self._finished, len(self._windows)
        self._open = ["".join(self._open)]
        words, distinct = self._finished + 1, len(self._windows)
        if words >= self._window_words:
            number = self._numbers.get(self._open[0])
            # A word that is new makes a window that is new.
            distinct += number is None or self._followed_by(number) not in self._windows
        return words, distinct

    def copy(self) -> _Words:
        other = _Words(self._window_words)
        other._numbers = self._numbers.copy()
        other._windows = self._windows.copy()
        other._latest, other._finished = self._latest, self._finished
        other._open = self._open.copy()
        return other

    def _finish(self) -> None:
        """The open word, if there is one, is whole."""
        if not self._open:
            return
        word = "".join(self._open)
        self._open.clear()
        self._latest = self._followed_by(self._numbers.setdefault(word, len(self._numbers)))
        self._finished += 1
        if self._finished >= self._window_words:
            self._windows.add(self._latest)

    def _followed_by(self, number: int) -> int:
        return (self._latest << WORD_BITS | number) & self._mask
