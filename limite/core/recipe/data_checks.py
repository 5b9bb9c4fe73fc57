"""A look at the files of texts that stages are given, before anything runs: every line of them.

All lines are read, so every one that is wrong is known. Of the first ones the tokens are counted:
that says whether they fit, and what training on them will cost.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TypeVar, cast

import attrs

from limite.core.config_faults import Fault
from limite.core.errors import LimiteError, Mistake, sentence
from limite.core.jsonl import DamagedFile
from limite.core.model.settings import Model
from limite.core.pretrained.settings import at
from limite.core.recipe.file_faults import placed, told_of_file
from limite.core.recipe.naming import misnamed, policies_before
from limite.core.recipe.overlap_checks import Watch
from limite.core.recipe.problem_checks import Texts
from limite.core.recipe.recipe import Recipe
from limite.core.recipe.runners.trace_data import longest_of, reader_of, room_of
from limite.core.recipe.stages import RL, Distill, Preference
from limite.core.tokenizer import Tokenizer
from limite.core.train.data.counts import Counts
from limite.core.train.data.pairs import Pair, PairIds, fitted, pair_ids, pair_of, told
from limite.core.train.data.prompts import Prompt
from limite.core.train.data.records import TOLD, Record, first_few, read_records
from limite.core.train.data.traces import Trace, fitted_trace, trace_ids
from limite.core.train.data.traces import told as traces_told

T = TypeVar("T")
COUNTED = 10_000
"""The lines of a file of which tokens are counted."""


@attrs.define(kw_only=True)
class FileLook:
    """What a look at one file has found. ``lines`` are those that can be used."""

    mistakes: list[Mistake]
    wrong: int = 0
    lines: int = 0

    def note(self, mistake: Mistake) -> None:
        """Counts a mistake, and keeps it if it is one of the first."""
        self.wrong += 1
        if len(self.mistakes) < TOLD:
            self.mistakes.append(mistake)

    def told(self, path: str) -> list[Mistake]:
        return first_few(self.mistakes, self.wrong, path)


def look_at(
    path: str,
    parse: Callable[[Record], T],
    use: Callable[[T], None],
    see: Callable[[T], None],
    counted: int = COUNTED,
) -> FileLook:
    """Reads all lines of a file: ``see`` gets every good one, ``use`` the first, and may refuse."""
    look = FileLook(mistakes=[])
    lines = read_records(path, parse)
    while True:
        try:
            number, value = next(lines)
        except StopIteration:
            return look
        except DamagedFile as error:  # what stands before the damage was read, and is told as well
            look.note(Mistake(str(error)))
            return look
        mistake = value if isinstance(value, Mistake) else None
        if mistake is None and look.lines < counted:
            try:
                use(cast(T, value))
            except (ValueError, LimiteError) as error:
                mistake = Mistake(sentence(error), file=path, line=number)
        if mistake is None:
            see(cast(T, value))
            look.lines += 1
        else:
            look.note(mistake)


def end_faults(tokenizer: Tokenizer) -> Iterator[Fault]:
    """Texts must end with a token, and it must be known which."""
    try:
        _ = tokenizer.eos_id
    except LimiteError as error:
        yield Fault(("tokenizer",), str(error))


def pair_faults(
    recipe: Recipe,
    name: str,
    stage: Preference,
    texts: dict[str, Texts],
    files: list[Mistake],
    watch: Watch,
    *,
    readable: bool,
) -> Iterator[Fault]:
    """What is wrong with where a stage has its pairs from; mistakes in a file go into ``files``.

    ``watch`` knows what later stages ask. With a tokenizer that is not ``readable`` lines are read
    and not encoded.
    """
    texts[name] = Texts()
    if len(stage.sources) != 1:
        given = f"{' and '.join(stage.sources)} are given" if stage.sources else "none is given"
        message = "pairs come from a file ('pairs'), from 'rollouts', or are 'sampled'"
        yield Fault(("pairs",), f"{message}; {given}")
        return
    context = context_of(recipe)
    if stage.max_tokens is not None and context is not None and stage.max_tokens > context:
        message = f"must be at most the model's context of {context} (model.context)"
        yield Fault(("max_tokens",), f"{message}, got {stage.max_tokens}")
    if stage.rollouts is not None:
        source = recipe.stages.get(stage.rollouts)
        if isinstance(source, RL) and source.budget == "fixed-response":
            texts[name] = Texts(documents=[source.max_tokens])
        return
    if stage.pairs is None:  # what is sampled is looked at elsewhere
        return
    if readable:
        ends = [*end_faults(recipe.tokenizer)]
        yield from ends
        readable = not ends
    limit = min(stage.max_tokens or context or 2**31, context or 2**31)
    prompts: list[int] = []
    rows: list[int] = []
    counts = Counts()

    def use(pair: Pair) -> None:
        if not readable:
            return
        kept: PairIds | None = fitted(pair_ids(pair, recipe.tokenizer), limit, counts)
        if kept is not None:
            prompts.append(len(kept.prompt))
            rows.extend(len(kept.prompt) + len(each) for each in (kept.chosen, kept.rejected))

    try:
        look = look_at(
            stage.pairs, pair_of, use, lambda pair: seen(watch, pair.prompt, stage.held_out)
        )
    except LimiteError as error:
        yield Fault(("pairs",), str(error))
        return
    yield from placed(look.told(stage.pairs), ("pairs",), files)
    if not look.lines and not look.wrong:
        yield Fault(("pairs",), f"{stage.pairs}: the file has no line")
    elif counts.read and not rows:
        message = f"{stage.pairs}: no pair is left to train on: {told(counts, limit)}"
        yield Fault(("max_tokens",), message)
    yield from watch.faults("pairs", where=stage.pairs)
    texts[name] = Texts(prompts=prompts, documents=rows, items=look.lines)


def seen(watch: Watch, prompt: Prompt, held_out: float) -> None:
    """Takes note of a prompt, unless it is kept from training."""
    if watch.asked and not prompt.held_out(held_out):
        watch.see(prompt.hashes)


def trace_faults(
    recipe: Recipe,
    name: str,
    stage: Distill,
    texts: dict[str, Texts],
    files: list[Mistake],
    watch: Watch,
    *,
    readable: bool,
) -> Iterator[Fault]:
    """What is wrong with a stage's texts; mistakes in files go into ``files``.

    ``watch`` knows what later stages ask. With a tokenizer that is not ``readable`` lines are read
    and not encoded.
    """
    texts[name] = Texts()
    context = context_of(recipe)
    if stage.max_tokens is not None and context is not None and stage.max_tokens > context:
        message = f"must be at most the model's context of {context} (model.context)"
        yield Fault(("max_tokens",), f"{message}, got {stage.max_tokens}")
    if stage.on_policy and stage.teacher is None:
        yield Fault(("teacher",), "is needed to judge what the student writes ('on_policy')")
    if stage.taught is not None and stage.traces is not None:
        yield Fault(("traces",), "has no use: with 'taught' the texts are answers to problems")
    if stage.taught is None and stage.traces is None:
        message = "is missing: texts come from a file ('traces'), or a teacher is asked ('taught')"
        yield Fault(("traces",), message)
    if stage.taught is not None and stage.teacher is None and not stage.on_policy:
        yield Fault(("teacher",), "is needed to answer problems ('taught')")
    if stage.traces is None:
        return
    limit = longest_of(stage, context or 2**31)
    if readable:
        ends = [*end_faults(recipe.tokenizer)]
        yield from ends
        readable = not ends
    prompts: list[int] = []
    rows: list[int] = []
    counts = Counts()

    def use(trace: Trace) -> None:
        if not readable:
            return
        ids = trace_ids(trace, recipe.tokenizer)
        kept = fitted_trace(ids, limit, counts, room=room_of(stage))
        if kept is not None:
            prompts.append(len(kept.prompt))
            written = stage.response_tokens if stage.on_policy else len(kept.completion)
            rows.append(len(kept.prompt) + written)

    try:
        look = look_at(
            stage.traces,
            reader_of(stage),
            use,
            lambda trace: seen(watch, trace.prompt, stage.held_out),
        )
    except LimiteError as error:
        yield Fault(("traces",), str(error))
        return
    yield from placed(look.told(stage.traces), ("traces",), files)
    if not look.lines and not look.wrong:
        yield Fault(("traces",), f"{stage.traces}: the file has no line")
    elif counts.read and not rows:
        message = f"{stage.traces}: no trace is left to train on: {traces_told(counts, limit)}"
        yield Fault(("response_tokens" if stage.on_policy else "max_tokens",), message)
    yield from watch.faults("traces", where=stage.traces)
    texts[name] = Texts(prompts=prompts, documents=rows, items=look.lines)


def teacher_faults(
    recipe: Recipe,
    name: str,
    stage: Distill,
    texts: Mapping[str, Texts],
    files: list[Mistake],
    *,
    readable: bool,
) -> Iterator[Fault]:
    """The teacher must be an earlier policy, or a model that reads the same ids, and as long
    ``texts``."""
    teacher = stage.teaching
    if teacher is None:
        return
    path = ("teacher",)
    if not stage.reads_lists and stage.asked is None:
        yield Fault(path, "has no use: the objective does not read what it finds likely")
    if teacher.stage is not None:
        right = policies_before(recipe, name)
        why = misnamed(recipe, name, teacher.said, right, "does not train a policy", path=True)
        if why is not None:
            yield Fault(path, why)
        return
    longest = longest_of(stage, context_of(recipe) or 2**31)
    if stage.taught is not None:
        longest = min(longest, texts[name].longest_document)
    yield from directory_faults(
        recipe, teacher.said, stage.teacher_dtype, longest, path, files, readable=readable
    )


def directory_faults(
    recipe: Recipe,
    said: str,
    dtype: str,
    longest: int,
    path: tuple[str, ...],
    files: list[Mistake],
    *,
    readable: bool,
) -> Iterator[Fault]:
    """Why a model in a directory cannot read the ids of the recipe's, or texts of ``longest``.

    ``path`` is the setting that names it; mistakes in its files go into ``files``.
    """
    if not Path(said).expanduser().is_dir():
        yield Fault(path, f"there is no directory {said!r}")
        return
    model = attrs.evolve(at(said), dtype=dtype)
    wrong = model.mistakes()
    yield from placed(wrong, path, files)
    if wrong:
        return
    if model.context < longest:
        message = f"has a context of {model.context} tokens, and texts have up to {longest}"
        yield Fault(path, f"{message}; set 'max_tokens'")
    if not readable:
        return
    ours, theirs = recipe.tokenizer, model.default_tokenizer()
    try:
        other = _first_difference(ours, theirs)
        model.filled(ours.vocabulary)
    except LimiteError as error:
        yield from told_of_file(error, path, files)
        return
    if other is not None:
        message = f"has another tokenizer: its id {other} is another text than the student's"
        yield Fault(path, message)


def _first_difference(ours: Tokenizer, theirs: Tokenizer) -> int | None:
    """The first id that two tokenizers give different texts; None where there is none."""
    if ours == theirs:
        return None
    for each in range(max(ours.vocabulary, theirs.vocabulary)):
        if each >= min(ours.vocabulary, theirs.vocabulary):
            return each
        if ours.decode([each]) != theirs.decode([each]):
            return each
    return None if ours.eos_ids == theirs.eos_ids else ours.eos_id


def context_of(recipe: Recipe) -> int | None:
    """The model's context; None where it cannot be told, which is said at the model."""
    try:
        return cast(Model, recipe.model).context
    except (LimiteError, AttributeError):
        return None
