"""A look at the texts of a pretraining stage before it runs: are they readable, how much is there?

Files may be larger than anyone waits for, so the first ``CHECKED`` documents of a source are read,
and of the first ``COUNTED`` the tokens are counted; how much there is in all follows about.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import attrs

from limite.core.config_faults import Fault
from limite.core.errors import LimiteError, Mistake
from limite.core.jsonl import DamagedFile
from limite.core.recipe.data_checks import context_of, end_faults
from limite.core.recipe.file_faults import placed, told_of_file
from limite.core.recipe.overlap_checks import Questions
from limite.core.recipe.problem_checks import Texts
from limite.core.recipe.recipe import Recipe
from limite.core.recipe.runners.pretrain_data import Forbidden, measured_pieces
from limite.core.recipe.stages import Pretrain
from limite.core.tokenizer import Tokenizer
from limite.core.train.data.arrow_rows import count_rows
from limite.core.train.data.places import Place, bytes_before
from limite.core.train.data.records import TOLD, first_few
from limite.core.train.data.token_documents import document_of, documents_from
from limite.core.train.data.token_files import COLUMNS, text_files

CHECKED = 50_000
COUNTED = 10_000
BUFFERED_BYTES = 4  # of a token
OF_PROBLEMS = "problems with worked solutions"


@attrs.define(kw_only=True)
class SourceLook:
    """What a look at a source has found. ``lengths`` are of the first documents, in tokens."""

    lengths: list[int] = attrs.field(factory=list)
    documents: int = 0
    left_out: int = 0
    wrong: int = 0
    mistakes: list[Mistake] = attrs.field(factory=list)
    share: float = 1.0  # of the source that was read, by size

    def note(self, mistake: Mistake) -> None:
        """Counts a mistake, and keeps it if it is one of the first."""
        self.wrong += 1
        if len(self.mistakes) < TOLD:
            self.mistakes.append(mistake)

    @property
    def mean_targets(self) -> float:
        return sum(self.lengths) / max(len(self.lengths), 1) - 1

    @property
    def targets(self) -> float:
        """Of one pass, estimated where not all was read."""
        return self.documents / max(self.share, 1e-9) * self.mean_targets

    @property
    def exact(self) -> bool:
        return self.share == 1.0 and self.documents <= COUNTED


def look_at_source(
    said: str, tokenizer: Tokenizer, forbidden: Forbidden, *, checked: int = CHECKED
) -> SourceLook:
    """Reads the first documents of a source; a LimiteError where there is none to read."""
    look = SourceLook()
    files = text_files(said)
    sizes = [file.stat().st_size for file in files]
    for number, file in enumerate(files):
        last = Place()
        try:
            for document, last in documents_from(file, Place(), tokenizer):
                if isinstance(document, Mistake):
                    look.note(document)
                elif forbidden(document):
                    look.left_out += 1
                else:
                    look.documents += 1
                    if len(look.lengths) < COUNTED:
                        look.lengths.append(len(document.ids))
                if look.documents + look.left_out + look.wrong >= checked:
                    part = _share_read(file, sizes[number], last)
                    look.share = (sum(sizes[:number]) + part * sizes[number]) / max(sum(sizes), 1)
                    return look
        except DamagedFile as error:  # what stands before the damage was read, and is told as well
            look.note(Mistake(str(error)))
    return look


def _share_read(file: Path, size: int, place: Place) -> float:
    if file.name.endswith(COLUMNS):
        return place.line / max(count_rows(file), 1)
    return bytes_before(file, place) / max(size, 1)


def pretrain_faults(
    recipe: Recipe,
    name: str,
    stage: Pretrain,
    made: Sequence[str],
    texts: dict[str, Texts],
    files: list[Mistake],
    questions: Questions,
    *,
    readable: bool,
) -> Iterator[Fault]:
    """What is wrong with a stage's texts; mistakes in files go into ``files``.

    ``made`` are the first of those that are made of problems. With a tokenizer that is not
    ``readable`` nothing can be read.
    """
    texts[name] = Texts()
    if not stage.weights and stage.made is None:
        yield Fault(("sources",), "is missing: texts come from 'sources', are 'made', or both")
    if stage.validation in stage.weights:
        message = "is a source as well, and what is measured is never trained on"
        yield Fault(("validation",), message)
    if readable:
        ends = [*end_faults(recipe.tokenizer)]
        yield from ends
        readable = not ends
    if not readable:
        yield from _missing(stage)
        return
    longest = context_of(recipe) or 2**24
    forbidden = Forbidden(tokenizer=recipe.tokenizer, asked=frozenset(questions.after(name).asked))
    notes: list[str] = []
    if stage.validation is not None:
        try:
            pieces, hashes = measured_pieces(
                stage.validation, recipe.tokenizer, targets=stage.eval_tokens, longest=longest
            )
            forbidden = attrs.evolve(forbidden, measured=hashes)
            measured = sum(len(ids) - 1 for ids in pieces)
            notes.append(f"{stage.validation}: {measured:,} targets are measured")
            if not pieces:
                yield Fault(("validation",), f"{stage.validation}: holds no document")
        except LimiteError as error:
            yield from told_of_file(error, ("validation",), files)
    rows: list[int] = []
    looks: dict[str, SourceLook] = {}
    for said in stage.weights:
        path = ("sources", said)
        try:
            look = look_at_source(said, recipe.tokenizer, forbidden)
        except LimiteError as error:
            yield from told_of_file(error, path, files)
            continue
        yield from placed(first_few(look.mistakes, look.wrong, said), path, files)
        if not look.documents and not look.wrong:
            why = "" if not look.left_out else f": all {look.left_out:,} are measured or asked"
            yield Fault(path, f"{said}: no document of it can be trained on{why}")
        looks[said] = look
        for tokens in look.lengths:
            rows += [
                min(longest, tokens - 1 - start) + 1 for start in range(0, tokens - 1, longest)
            ]
    if stage.made is not None and made:
        lengths = [len(document_of({"text": said}, recipe.tokenizer).ids) for said in made]
        looks[OF_PROBLEMS] = SourceLook(
            lengths=lengths, documents=len(lengths), share=len(lengths) / stage.made.documents
        )
        rows += [min(longest + 1, tokens) for tokens in lengths]
    notes = [*_told(stage, looks), *notes]
    texts[name] = Texts(documents=rows, items=sum(each.documents for each in looks.values()))
    texts[name] = attrs.evolve(texts[name], notes=tuple(notes))


def _missing(stage: Pretrain) -> Iterator[Fault]:
    """The sources that are not there, where nothing more can be known of them."""
    for said in stage.weights:
        try:
            text_files(said)
        except LimiteError as error:
            yield Fault(("sources", said), str(error))


def _told(stage: Pretrain, looks: dict[str, SourceLook]) -> Iterator[str]:
    """What will be read, in a line for each source and one for all."""
    total = stage.steps * stage.batch_tokens
    weighted = dict(stage.weights)
    if stage.made is not None:
        weighted[OF_PROBLEMS] = stage.made.weight
    weights = sum(weighted.values())
    buffered = 0.0
    yield (
        f"{stage.steps:,} updates of {stage.batch_tokens:,} targets, {total:,} in all; "
        f"{stage.microbatch_tokens:,} at a time"
    )
    for said, look in looks.items():
        share = weighted[said] / weights
        about = "" if look.exact else "about "
        documents = round(look.documents / max(look.share, 1e-9))
        text = (
            f"{said}: {about}{documents:,} documents, {about}{round(look.targets):,} targets; "
            f"{share:.1%} of the stream, {total * share / max(look.targets, 1e-9):.2f} passes"
        )
        if look.left_out:
            text += f"; {look.left_out:,} documents left out, which are measured or asked later"
        if look.share < 1:
            text += f"; the first {look.documents:,} were read"
        yield text
        kept = min(stage.shuffle_documents, documents)
        buffered += kept * (look.mean_targets + 1) * BUFFERED_BYTES
    yield f"look-ahead of about {buffered / 2**20:,.1f} MiB, which checkpoints hold as well"
