"""The texts of a pretraining stage: what is streamed, what is measured, and what is left out."""

from __future__ import annotations

from collections.abc import Callable, Collection
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs

from limite.core.errors import Mistake, SettingsError
from limite.core.jsonl import write_jsonl
from limite.core.recipe.overlap_checks import Questions
from limite.core.recipe.problem_source import ProblemSource
from limite.core.recipe.runners.stage_data import made_once
from limite.core.recipe.stages import MadeTexts, Pretrain
from limite.core.registry import Registry
from limite.core.seeds import Seeds
from limite.core.separation import text_hash
from limite.core.tokenizer import SEPARATOR, Tokenizer
from limite.core.train.data.places import Place
from limite.core.train.data.token_documents import Ids, TokenDocument, documents_from
from limite.core.train.data.token_files import text_files
from limite.core.train.data.token_stream import TokenSource, TokenStream
from limite.core.train.documents import pick_style
from limite.core.types import Problem

if TYPE_CHECKING:
    from limite.core.recipe.context import StageContext

EVERY_PROBLEM = 10**12
MADE = "made.jsonl.zst"


@attrs.frozen(kw_only=True, eq=False)
class Forbidden:
    """Documents that must not be trained on.

    ``measured`` are hashes of the contents of documents that are measured; ``asked`` those of the
    normalised texts of problems that later stages ask. A document is left out that is one of the
    former, or of which a line, or the whole, is one of the latter.
    """

    tokenizer: Tokenizer
    measured: Collection[bytes] = frozenset()
    asked: Collection[str] = frozenset()

    def __call__(self, document: TokenDocument) -> bool:
        if self.measured and document.content_hash(self.tokenizer) in self.measured:
            return True
        if not self.asked:
            return False
        said = document.said(self.tokenizer)
        return any(text_hash(each) in self.asked for each in (said, *said.splitlines()))


def measured_pieces(
    said: str, tokenizer: Tokenizer, *, targets: int, longest: int
) -> tuple[list[Ids], set[bytes]]:
    """The first ``targets`` targets of a file in pieces of at most ``longest``, and the hashes of
    the documents they come from."""
    pieces: list[Ids] = []
    hashes: set[bytes] = set()
    for file in text_files(said):
        for document, _ in documents_from(file, Place(), tokenizer):
            if isinstance(document, Mistake):
                raise SettingsError([document])
            hashes.add(document.content_hash(tokenizer))
            rest = document.ids
            while len(rest) > 1 and targets:
                count = min(longest, len(rest) - 1, targets)
                pieces.append(rest[: count + 1])
                rest, targets = rest[count:], targets - count
            if not targets:
                return pieces, hashes
    return pieces, hashes


def open_texts(context: StageContext, stage: Pretrain) -> tuple[TokenStream, list[Ids]]:
    """The stream of a stage at its beginning, and the pieces it is measured on."""
    tokenizer, longest = context.tokenizer, context.model.context
    pieces: list[Ids] = []
    measured: set[bytes] = set()
    if stage.validation is not None:
        pieces, measured = measured_pieces(
            stage.validation, tokenizer, targets=stage.eval_tokens, longest=longest
        )
    questions = Questions(recipe=context.recipe, registry=context.registry, most=EVERY_PROBLEM)
    forbidden = Forbidden(
        tokenizer=tokenizer,
        measured=measured,
        asked=frozenset(questions.after(context.name).asked),
    )
    weights = dict(stage.weights)
    if stage.made is not None:
        weights[str(made_once(context, make_texts(context, stage.made)) / MADE)] = stage.made.weight
    sources = [
        TokenSource(
            said,
            tokenizer,
            context.seeds.child("source", number),
            shuffle_documents=stage.shuffle_documents,
            leave_out=forbidden,
        )
        for number, said in enumerate(weights)
    ]
    return TokenStream(sources, list(weights.values()), longest=longest), pieces


def problems_to_write(
    made: MadeTexts, registry: Registry, seeds: Seeds, most: int | None = None
) -> list[Problem]:
    """The distinct problems of the stage with ``seeds``, none of the part kept for evaluation."""
    source = ProblemSource(made.problems, registry, seeds.child("made"), held_out=False)
    return source.distinct(
        made.documents if most is None else min(made.documents, most), of=made.documents
    )


def written(problem: Problem, made: MadeTexts, seeds: Seeds) -> str:
    """A problem with a worked solution as one text, as a model reads the two."""
    return problem.problem + SEPARATOR + problem.solutions[pick_style(problem, made.styles, seeds)]


def make_texts(context: StageContext, made: MadeTexts) -> Callable[[Path], None]:
    """Writes them into a folder, as a source like any other."""

    def make(folder: Path) -> None:
        problems = problems_to_write(made, context.registry, context.seeds)
        context.echo(f"{context.name}: {len(problems):,} texts are made of problems")
        lines = ({"text": written(each, made, context.seeds)} for each in problems)
        write_jsonl(folder / MADE, lines)

    return make


def told_of(stream: TokenStream) -> list[dict[str, Any]]:
    """What was read of each source, for the receipt."""
    return [
        {
            "targets": given,
            "passes": source.cursor.passes,
            "drawn_documents": source.cursor.drawn,
            "left_out_documents": source.cursor.left_out,
        }
        for source, given in zip(stream.sources, stream.given, strict=True)
    ]
