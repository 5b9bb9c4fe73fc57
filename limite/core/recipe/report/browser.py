"""The browser of responses: problems that open, with what each model answered and where it failed.

Everything of a problem or a response is a stranger's text and is escaped. The page stays small: how
much is left out is said where it is left out.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import attrs

from limite.core.recipe.report import parts, worddiff, words
from limite.core.recipe.report.asked import (
    OF_EACH,
    Change,
    Kept,
    Side,
    differing,
    is_right,
    most_changed,
    some_of,
)
from limite.core.recipe.report.samples import ENDINGS, GRADER
from limite.core.recipe.report.words import escape

PIECE = 700  # characters at the beginning and at the end of a long response, and around a step
MOST_CHARACTERS = 2_500_000  # of all responses on a page
THOUGHT = "</think>"
QUESTION = 90  # characters of a question in a row


@attrs.frozen(kw_only=True)
class Shelf:
    """What a browser shows: models in order, what was kept of each, problems in order.

    ``pair`` are the places of the two models whose answers are laid side by side.
    """

    sides: Sequence[Side]
    kept: Sequence[Kept]
    problems: Sequence[str]
    total: int
    pair: tuple[int, int] | None = None
    slug: str = "problem"

    def question(self, problem: str) -> str:
        return next(
            (each.questions[problem] for each in self.kept if problem in each.questions), ""
        )


def paired_table(shelf: Shelf, found: Sequence[Change], linked: Collection[str]) -> str:
    """Problems from the largest loss to the largest gain, some linked to their responses."""
    if not found:
        return ""
    rows = []
    listed = most_changed(found)
    samples = max(side.samples for side in shelf.sides)
    for each in listed:
        text = parts.brief(shelf.question(each.problem) or each.problem, QUESTION)
        link = (
            f'<a href="#{shelf.slug}-{shelf.problems.index(each.problem)}">{escape(text)}</a>'
            if each.problem in linked
            else escape(text)
        )
        tone = "bad" if each.by < 0 else "good"
        rows.append(
            [
                f'<td class="n {tone}">{escape(f"{each.by:+d}".replace("-", "−"))}</td>',
                parts.cell(f"{each.before}/{samples}", "n"),
                parts.cell(f"{each.after}/{samples}", "n"),
                f'<td class="w">{link}</td>',
            ]
        )
    lost, gained = (sum(sign * each.by > 0 for each in found) for sign in (-1, 1))
    same = len(found) - lost - gained
    left = lost + gained - len(listed)
    note = (
        f"{words.plural(lost, 'problem')} went worse, {gained:,} better, {same:,} as before and "
        "not in this list."
    )
    if left:
        note += f" The {len(listed):,} that changed most are listed, {left:,} are left out."
    columns = ("Change:n", *(f"{side.name}:n" for side in shelf.sides), "Problem")
    table = parts.table(
        "Problems by how their number of right responses changed", columns, rows, tall=True
    )
    return f'<p class="note">{escape(note)}</p>{table if rows else ""}'


def browser(shelf: Shelf, rule: str, most: int = MOST_CHARACTERS) -> tuple[str, Collection[str]]:
    """All problems of the shelf, each closed until it is opened, and which these are.

    Those beyond ``most`` characters are left out.
    """
    spent = 0
    cards: dict[str, str] = {}
    for place, problem in enumerate(shelf.problems):
        records = [each.records.get(problem, ()) for each in shelf.kept]
        if not any(records):
            continue
        card = _problem(shelf, place, problem, records)
        if spent and spent + len(card) > most:
            break
        spent += len(card)
        cards[problem] = card
    if not cards:
        return "", ()
    files = "responses.jsonl.zst"
    note = (
        f"{len(cards):,} of {words.plural(shelf.total, 'problem')}: {rule}. Of each model the "
        f"first {OF_EACH} right and the first {OF_EACH} wrong responses. All are in {files}."
    )
    notes = [note, *(each.damaged + "." for each in shelf.kept if each.damaged)]
    told = "".join(f'<p class="note">{escape(text)}</p>' for text in notes)
    listed = "".join(cards.values())
    return f'{told}<div class="browser">{_filter(shelf.slug)}{listed}</div>', cards.keys()


def _filter(slug: str) -> str:
    """Which problems are listed: buttons that work without a script."""
    choices = (("all", "all"), ("wrong", "with a wrong response"), ("step", "with a wrong step"))
    buttons = "".join(
        f'<label><input type="radio" name="{slug}-show" class="show-{name}"'
        f"{' checked' if name == 'all' else ''}> {text}</label>"
        for name, text in choices
    )
    return f"<fieldset><legend>Show problems:</legend>{buttons}</fieldset>"


def _problem(
    shelf: Shelf, place: int, problem: str, records: Sequence[Sequence[Mapping[str, Any]]]
) -> str:
    first = next(each[0] for each in records if each)
    question = str(first.get("problem", ""))
    scores = []
    wrong = step = False
    columns = []
    for side, found in zip(shelf.sides, records, strict=True):
        right = sum(map(is_right, found))
        scores.append(f"{right}/{len(found)}")
        wrong |= right < len(found)
        chosen = some_of(found)
        step |= any(step_of(each)[0] in ("equation", "quantity") for each in chosen)
        cards = "".join(_response(each) for each in chosen)
        left = len(found) - len(chosen)
        more = f'<p class="more">{words.plural(left, "more response")}</p>' if left else ""
        columns.append(
            f'<section class="batch"><h4>{escape(parts.brief(side.name))}</h4>'
            f'<p class="note">{right:,} of {words.plural(len(found), "response")} right</p>'
            f"{cards}{more}</section>"
        )
    rows = [("problem", question), ("answer", first.get("answer"))]
    if first.get("solution"):
        rows.append(("solution", first["solution"]))
    said = "".join(
        f'<div class="says"><span>{name}</span>{_plain(text)}</div>' for name, text in rows
    )
    classes = " ".join(
        ["problem", *(["has-wrong"] if wrong else []), *(["has-step"] if step else [])]
    )
    return (
        f'<details class="{classes}" id="{shelf.slug}-{place}">'
        f"<summary>{escape(parts.brief(question, 140))} "
        f"<small>{escape(' → '.join(scores))} right</small></summary>"
        f'<div class="inside">{said}<div class="batches">{"".join(columns)}</div>'
        f"{_difference(shelf, records)}</div></details>"
    )


def _difference(shelf: Shelf, records: Sequence[Sequence[Mapping[str, Any]]]) -> str:
    if shelf.pair is None:
        return ""
    pair = differing(records[shelf.pair[0]], records[shelf.pair[1]])
    if pair is None:
        return ""
    names = [escape(parts.brief(shelf.sides[at].name)) for at in shelf.pair]
    texts = [str(each.get("text", "")) for each in pair]
    thought = all(THOUGHT in text for text in texts)
    if thought:
        texts = [text.rpartition(THOUGHT)[2] for text in texts]
    said, html = worddiff.compared(texts[0], texts[1])
    if thought:
        said += " Compared is what follows the thinking."
    marks = [("right" if is_right(each) else "wrong") for each in pair]
    key = f"<del>{names[0]}</del> ({marks[0]}) and <ins>{names[1]}</ins> ({marks[1]})"
    body = f'<pre dir="auto">{html}</pre>' if html else ""
    return (
        f'<section class="differ"><h4>Sample {escape(pair[0].get("sample_index"))}: {key}</h4>'
        f'<p class="note">{escape(said)}</p>{body}</section>'
    )


def step_of(record: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]]:
    """The kind of the first wrong step that a record names, and the step; empty without one."""
    step = record.get("wrong_step")
    if is_right(record) or not isinstance(step, Mapping):
        return "", {}
    kind = step.get("kind")
    return (kind, step) if isinstance(kind, str) and kind in _STEPS else ("", {})


_STEPS = {
    "equation": "First wrong step: “{said}” does not hold, it is {right}",
    "quantity": "First wrong step: “{said}”, where the worked solution has {right}",
    "answer": "No earlier step is known to be wrong; the answer is {right}",
}


def _response(record: Mapping[str, Any]) -> str:
    right = is_right(record)
    status = GRADER.get(str(record.get("grader_status")), "wrong")
    mark = "✓ right" if right else f"✗ {status}"
    reason = str(record.get("finish_reason"))
    facts = [f"sample {record.get('sample_index')}", ENDINGS.get(reason, reason)]
    tokens = record.get("generated_tokens")
    if type(tokens) is int:
        facts.append(words.plural(tokens, "token"))
    stated = record.get("extracted_answer")
    if stated is not None:
        facts.append(f"answers {words.shorten(str(stated), 80)[0]}")
    elif record.get("grader_reason"):
        facts.append(words.shorten(str(record["grader_reason"]), 120)[0])
    kind, step = step_of(record)
    told = ""
    if kind:
        said, better = (parts.brief(str(step.get(name)), 200) for name in ("said", "right"))
        text = _STEPS[kind].format(said=said, right=better)
        where = ", in the thinking, which may put it right later" if step.get("thinking") else ""
        told = f'<p class="step {kind}">{escape(text)}{where}.</p>'
    return (
        f'<article class="sample {"right" if right else "wrong"}">'
        f'<p class="facts"><strong>{escape(mark)}</strong> <span>{escape(" · ".join(facts))}'
        f"</span></p>{told}{_text(record, step)}</article>"
    )


def _text(record: Mapping[str, Any], step: Mapping[str, Any]) -> str:
    """A response with its wrong step marked; what was thought is folded away."""
    text = record.get("text")
    if not isinstance(text, str) or not text:
        return '<p class="empty">empty</p>'
    start, end = step.get("start"), step.get("end")
    mark = None
    if type(start) is int and type(end) is int and 0 <= start < end <= len(text):
        mark = (start, end) if end - start <= PIECE else None
    thought = text.rfind(THOUGHT)
    if thought < 0:
        return _stretch(text, 0, len(text), mark)
    thought += len(THOUGHT)
    size = words.plural(thought, "character")
    return (
        f'<details class="thought"><summary>thinking <small>{size}</small></summary>'
        f"{_stretch(text, 0, thought, mark)}</details>{_stretch(text, thought, len(text), mark)}"
    )


def _stretch(text: str, start: int, end: int, mark: tuple[int, int] | None) -> str:
    """A part of a response: of a long one its ends and what is around the marked step."""
    windows = [(start, start + PIECE), (end - PIECE, end)]
    if mark is not None and start <= mark[0] < end:
        windows.append((mark[0] - PIECE // 2, mark[1] + PIECE // 2))
    told = []
    at = start
    for low, high in _joined(windows, start, end):
        if low > at:
            told.append(f'<span class="more">… {low - at:,} characters …</span>')
        if mark is not None and low <= mark[0] and mark[1] <= high:
            told.append(
                f"{escape(text[low : mark[0]])}<mark>{escape(text[mark[0] : mark[1]])}</mark>"
                f"{escape(text[mark[1] : high])}"
            )
        else:
            told.append(escape(text[low:high]))
        at = high
    return f'<pre dir="auto" tabindex="0">{"".join(told).strip(chr(10))}</pre>'


def _joined(windows: Sequence[tuple[int, int]], start: int, end: int) -> list[tuple[int, int]]:
    """Stretches in order, those that touch made one; short gaps are shown rather than told."""
    found: list[tuple[int, int]] = []
    for low, high in sorted((max(start, low), min(end, high)) for low, high in windows):
        if found and low <= found[-1][1] + 40:
            found[-1] = (found[-1][0], max(high, found[-1][1]))
        else:
            found.append((low, high))
    return found


def _plain(value: Any) -> str:
    if value is None or value == "":
        return '<p class="empty">empty</p>'
    text, left = words.shorten(str(value).strip("\n"), 2 * PIECE)
    more = f'<span class="more">… {left:,} more characters</span>' if left else ""
    return f'<pre dir="auto">{escape(text)}{more}</pre>'
