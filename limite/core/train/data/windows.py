"""Documents in windows of one length: where each begins, what that repeats, and what it loses."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import attrs
from attrs.validators import and_, ge, le

from limite.core.errors import LimiteError
from limite.core.receipts import differences, recipe_hash
from limite.core.seeds import Seeds
from limite.core.train.documents import Document
from limite.core.validators import option

OVERLAP, DROP = "overlap-final-window", "drop-tail"
INCLUDE, EXCLUDE = "include", "exclude"


@attrs.frozen(kw_only=True)
class Windows:
    """Documents in windows of equal length, each within one document.

    A window of ``tokens`` targets has one token more, which precedes the first. With ``drop-tail``
    windows follow each other and what is left at a document's end is lost, its end token with it.
    ``overlap-final-window`` adds a window that ends where the document does, so that the ending
    is learned and some targets are met twice. A document of at most ``tokens`` tokens has no
    window: it is left out, or it is a shorter row of its own.
    """

    tokens: int = attrs.field(
        validator=and_(ge(1), le(2**24)), metadata={"unit": "targets", "help": "of a window"}
    )
    policy: str = attrs.field(
        default=OVERLAP,
        validator=option(OVERLAP, DROP),
        metadata={"help": "what becomes of the end of a document"},
    )
    short: str = attrs.field(
        default=EXCLUDE,
        validator=option(EXCLUDE, INCLUDE),
        metadata={"help": "what becomes of documents too short for a window"},
    )


@attrs.frozen
class Window:
    """Tokens ``start`` to ``stop`` of a document; all but the first are targets."""

    document: int
    start: int
    stop: int


def window_starts(tokens: int, windows: Windows) -> list[int]:
    """Where the windows of a document of ``tokens`` tokens begin, its end token included.

    ``0, C, 2C, ...`` below ``tokens - C``; with ``overlap-final-window`` also ``tokens - C - 1``.
    None where it is short.
    """
    starts = list(range(0, tokens - windows.tokens, windows.tokens))
    last = tokens - windows.tokens - 1
    if windows.policy == OVERLAP and starts and starts[-1] != last:
        starts.append(last)
    return starts


def cut(lengths: Iterable[int], windows: Windows) -> Iterator[Window]:
    """The windows of all documents, in their order; a short one that is included is one too."""
    for document, tokens in enumerate(lengths):
        starts = window_starts(tokens, windows)
        for start in starts:
            yield Window(document, start, start + windows.tokens + 1)
        if not starts and windows.short == INCLUDE and tokens > 1:
            yield Window(document, 0, tokens)


@attrs.define(kw_only=True)
class WindowCounts:
    """What became of the documents of a split. Targets are counted whether or not they are masked.

    Of retained documents, those with a window, ``unique_targets + repeated_targets`` is what all
    windows hold: ``windows * C``.
    """

    documents: int = 0
    retained: int = 0
    excluded_documents: int = 0
    excluded_tokens: int = 0
    included_documents: int = 0  # short ones
    included_targets: int = 0
    windows: int = 0
    extra_windows: int = 0
    unique_targets: int = 0
    repeated_targets: int = 0
    supervised_endings: int = 0  # documents whose end token is a target

    @classmethod
    def of(cls, lengths: Iterable[int], windows: Windows) -> WindowCounts:
        """The counts of documents of these lengths, in tokens, in closed form."""
        counts = cls()
        for tokens in lengths:
            counts._add(tokens, windows)
        return counts

    def _add(self, tokens: int, windows: Windows) -> None:
        self.documents += 1
        if tokens <= windows.tokens and windows.short == EXCLUDE:
            self.excluded_documents += 1
            self.excluded_tokens += tokens
            return
        if tokens <= windows.tokens:
            self.included_documents += 1
            self.included_targets += tokens - 1
            self.supervised_endings += tokens > 1
            return
        whole, rest = divmod(tokens - 1, windows.tokens)
        extra = bool(rest) and windows.policy == OVERLAP
        self.retained += 1
        self.windows += whole + extra
        self.extra_windows += extra
        self.unique_targets += tokens - 1 if extra else whole * windows.tokens
        self.repeated_targets += windows.tokens - rest if extra else 0
        self.supervised_endings += extra or not rest

    @property
    def ending_share(self) -> float:
        """The share of all documents whose ending is supervised."""
        return self.supervised_endings / max(self.documents, 1)

    @property
    def rows(self) -> int:
        """Windows, and short documents that are rows of their own."""
        return self.windows + self.included_documents

    def plain(self) -> dict[str, Any]:
        """The same for a receipt."""
        return {**attrs.asdict(self), "ending_share": self.ending_share}

    def told(self, windows: Windows) -> str:
        """One line for people."""
        text = (
            f"{self.windows:,} windows of {windows.tokens:,} targets ({windows.policy}) from "
            f"{self.retained:,} of {self.documents:,} documents"
        )
        if self.excluded_documents:
            text += (
                f"; {self.excluded_documents:,} short ones of {self.excluded_tokens:,} tokens "
                "left out"
            )
        if self.included_documents:
            text += (
                f"; {self.included_documents:,} short ones of {self.included_targets:,} targets "
                "as they are"
            )
        return (
            f"{text}; {self.unique_targets:,} unique targets, {self.repeated_targets:,} repeated "
            f"in {self.extra_windows:,} extra windows; the ending of {self.ending_share:.1%} of "
            "documents is learned"
        )


def order_contract(
    documents: Sequence[Document],
    windows: Windows,
    *,
    targets: str,
    rows: int,
    seeds: Seeds,
) -> dict[str, Any]:
    """What the order of windows depends on, with its hash: two stages that share it train on the
    same windows in the same order."""
    digest = hashlib.sha256()
    for document in documents:
        ids = ",".join(map(str, document.ids))
        digest.update(f"{document.prompt_tokens}:{ids}\n".encode())
    contract = {
        **attrs.asdict(windows),
        "targets": targets,
        "rows": rows,
        "order_seed": seeds.integer("order"),
        "documents_sha256": digest.hexdigest(),
    }
    return {**contract, "sha256": recipe_hash(contract)}


def refuse_other_order(
    saved: Mapping[str, Any] | None, contract: Mapping[str, Any], where: str
) -> None:
    """Refuses a cursor that counts windows of another order: it would point somewhere else."""
    told = differences(saved or {}, contract, ignore=("sha256",))
    if told:
        raise LimiteError(
            f"{where} cannot go on: its position was saved in another order of windows "
            "(then -> now):\n  " + "\n  ".join(told)
        )
