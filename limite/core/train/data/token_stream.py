"""An endless stream of tokens from several sources, that can be left and gone on with anywhere.

Each source is read file by file, never whole: a bounded buffer of documents is kept, and the next
is drawn from it. What a stream needs to go on is where it reads, how often it drew, and what the
buffers hold.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs
import numpy as np
import torch

from limite.core.errors import LimiteError, Mistake, SettingsError
from limite.core.seeds import Seeds
from limite.core.tokenizer import Tokenizer
from limite.core.train.data.places import Place
from limite.core.train.data.token_documents import Ids, TokenDocument, documents_from
from limite.core.train.data.token_files import text_files

LeaveOut = Callable[[TokenDocument], bool]
"""Whether a document must not be trained on."""


@attrs.define(kw_only=True)
class Cursor:
    """How far a source was read. ``file`` counts in the order of the pass."""

    passes: int = 0  # finished ones
    file: int = 0
    place: Place = attrs.field(factory=Place)
    drawn: int = 0
    read: int = 0  # documents of this pass
    left_out: int = 0  # of all passes

    @classmethod
    def of(cls, saved: Mapping[str, Any]) -> Cursor:
        return cls(**{**saved, "place": Place(**saved["place"])})


class TokenSource:
    """Documents of one source, endlessly, in a seeded order.

    In every pass each document comes once: a buffer of ``shuffle_documents`` is filled, one of it
    is drawn and replaced by the next that is read, and at the end of the pass the buffer is
    emptied. Files of a pass come in a seeded order too. With a buffer of 1 all stay as they lie.
    """

    def __init__(
        self,
        said: str,
        tokenizer: Tokenizer,
        seeds: Seeds,
        *,
        shuffle_documents: int,
        leave_out: LeaveOut,
    ) -> None:
        self.said, self.tokenizer, self.seeds = said, tokenizer, seeds
        self.shuffle_documents, self.leave_out = shuffle_documents, leave_out
        self.files = text_files(said)
        self.cursor = Cursor()
        self.buffer: list[Ids] = []
        self._reading = self._pass()

    def draw(self) -> Ids:
        """The next document."""
        while True:
            while len(self.buffer) < self.shuffle_documents:
                found = next(self._reading, None)
                if found is None:
                    break
                self.buffer.append(found)
            if self.buffer:
                break
            if not self.cursor.read:
                raise LimiteError(f"{self.said}: no document of it can be trained on")
            last = self.cursor
            self.cursor = Cursor(passes=last.passes + 1, drawn=last.drawn, left_out=last.left_out)
            self._reading = self._pass()
        index = self.seeds.integer("shuffle", self.cursor.drawn) % len(self.buffer)
        self.cursor.drawn += 1
        if self.shuffle_documents > 1:
            self.buffer[index], self.buffer[-1] = self.buffer[-1], self.buffer[index]
        return self.buffer.pop()

    def _order(self) -> list[Path]:
        """The files of this pass."""
        files = list(self.files)
        if self.shuffle_documents > 1:
            self.seeds.stream("files", self.cursor.passes).shuffle(files)
        return files

    def _pass(self) -> Iterator[Ids]:
        """What is left of this pass, from the cursor on, which goes along."""
        cursor, files = self.cursor, self._order()
        while cursor.file < len(files):
            for document, behind in documents_from(
                files[cursor.file], cursor.place, self.tokenizer
            ):
                if isinstance(document, Mistake):
                    raise SettingsError([document])
                cursor.place = behind
                if self.leave_out(document):
                    cursor.left_out += 1
                    continue
                cursor.read += 1
                yield document.ids
            cursor.file, cursor.place = cursor.file + 1, Place()

    def state(self) -> dict[str, Any]:
        """Where it reads, as plain data."""
        return attrs.asdict(self.cursor)

    def restore(self, saved: Mapping[str, Any], buffer: Sequence[Ids]) -> None:
        """Goes on where another was, with what its buffer held."""
        self.cursor = Cursor.of(saved)
        self.buffer = list(buffer)
        self._reading = self._pass()


class TokenStream:
    """Pieces of documents from weighted sources, so and so many targets at a time.

    The source that has had the least for its weight gives the next document, counted in targets.
    A document is cut into pieces of at most ``longest`` targets, and where an update is full: the
    next piece begins with the last token of the one before. So every token but a document's first
    is a target exactly once, and its end token is among them.
    """

    def __init__(
        self, sources: Sequence[TokenSource], weights: Sequence[float], *, longest: int
    ) -> None:
        assert len(sources) == len(weights)
        self.sources, self.weights, self.longest = sources, weights, longest
        self.given = [0] * len(sources)  # targets of the documents of each
        self._rest: Ids = np.empty(0, dtype=np.int32)

    def take(self, targets: int) -> list[Ids]:
        """Pieces with ``targets`` targets in all, each a token longer than it has targets."""
        pieces: list[Ids] = []
        while targets:
            if len(self._rest) < 2:
                self._rest = self._next()
            count = min(self.longest, len(self._rest) - 1, targets)
            pieces.append(self._rest[: count + 1])
            self._rest = self._rest[count:]
            targets -= count
        return pieces

    def _next(self) -> Ids:
        served = [given / weight for given, weight in zip(self.given, self.weights, strict=True)]
        index = served.index(min(served))
        ids = self.sources[index].draw()
        self.given[index] += len(ids) - 1
        return ids

    def state(self) -> dict[str, Any]:
        """All but the ids that are kept, as plain data."""
        sources = [source.state() for source in self.sources]
        return {"sources": sources, "given": list(self.given)}

    def kept(self) -> dict[str, torch.Tensor]:
        """The ids that were read and not yet given: buffers, and what is left of a document."""
        found = {"rest": _tensor(self._rest)}
        for number, source in enumerate(self.sources):
            lengths = np.array([len(ids) for ids in source.buffer], dtype=np.int64)
            whole = np.concatenate([np.empty(0, dtype=np.int32), *source.buffer])
            found[f"{number}.ids"] = _tensor(whole)
            found[f"{number}.lengths"] = _tensor(lengths)
        return found

    def restore(self, saved: Mapping[str, Any], kept: Mapping[str, torch.Tensor]) -> None:
        """Goes on where another stream of the same sources was."""
        self.given = [int(each) for each in saved["given"]]
        self._rest = kept["rest"].numpy()
        for number, source in enumerate(self.sources):
            ends = kept[f"{number}.lengths"].numpy().cumsum()[:-1]
            ids = kept[f"{number}.ids"].numpy()
            empty = not len(kept[f"{number}.lengths"])
            source.restore(saved["sources"][number], [] if empty else np.split(ids, ends))


def _tensor(values: np.ndarray[Any, Any]) -> torch.Tensor:
    found = torch.empty(len(values), dtype=torch.int32 if values.dtype == np.int32 else torch.int64)
    found.numpy()[:] = values
    return found
