"""Makes ``stories.jsonl``: stories written by hand, each with a program that finds its answer.

    python -m limite.problems.shipped.stories > stories.jsonl

Sixteen texts, numbers drawn by a seed. Every program is run in the sandbox, with two hash seeds,
and the value it gives is the answer.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from typing import Any

import attrs

from limite.core.seeds import Seeds
from limite.core.types import Answer
from limite.problems.author.program import Runner, look_at

SEED = 20
EACH = 32

Bounds = dict[str, tuple[int, int]]


@attrs.frozen(kw_only=True)
class Story:
    """A text with gaps, the expression that answers it, and the steps of a worked solution."""

    name: str
    text: str
    answer: str
    steps: str
    numbers: Bounds
    where: str = "True"


STORIES = (
    Story(
        name="balls",
        text="A box holds {a} red balls and {b} blue balls. How many balls does it hold?",
        answer="a + b",
        steps="{a}+{b}={a + b}",
        numbers={"a": (3, 40), "b": (3, 40)},
    ),
    Story(
        name="coins",
        text="Tom has {a} coins and gives {b} of them away. How many coins does he keep?",
        answer="a - b",
        steps="{a}-{b}={a - b}",
        numbers={"a": (12, 60), "b": (3, 40)},
        where="a > b",
    ),
    Story(
        name="seats",
        text="A train has {a} cars with {b} seats each. How many seats does it have?",
        answer="a * b",
        steps="{a}*{b}={a * b}",
        numbers={"a": (3, 9), "b": (6, 20)},
    ),
    Story(
        name="apples",
        text="{a} apples are shared equally by {b} children. How many does each child get?",
        answer="a // b",
        steps="{a}/{b}={a // b}",
        numbers={"a": (12, 90), "b": (2, 9)},
        where="a % b == 0",
    ),
    Story(
        name="clothes",
        text="A shirt costs {a} euros, a hat {b} euros less. What do both cost, in euros?",
        answer="a + (a - b)",
        steps="{a}-{b}={a - b};{a}+{a - b}={2 * a - b}",
        numbers={"a": (12, 40), "b": (2, 10)},
    ),
    Story(
        name="tank",
        text="A tank holds {a} litres and loses {b} an hour. How many are left after {c} hours?",
        answer="a - b * c",
        steps="{b}*{c}={b * c};{a}-{b * c}={a - b * c}",
        numbers={"a": (40, 90), "b": (2, 9), "c": (2, 8)},
        where="a > b * c",
    ),
    Story(
        name="rope",
        text="A rope of {a} metres is cut into pieces of {b} metres. How many metres are left?",
        answer="a % b",
        steps="{a} mod {b}={a % b}",
        numbers={"a": (20, 90), "b": (3, 12)},
    ),
    Story(
        name="pages",
        text="Anna reads {a} pages a day for {b} days, and {c} more. How many pages has she read?",
        answer="a * b + c",
        steps="{a}*{b}={a * b};{a * b}+{c}={a * b + c}",
        numbers={"a": (4, 15), "b": (2, 9), "c": (2, 20)},
    ),
    Story(
        name="ages",
        text="Ben is {a} years old and Cora {b} times as old. How many years are they together?",
        answer="a + a * b",
        steps="{a}*{b}={a * b};{a}+{a * b}={a + a * b}",
        numbers={"a": (3, 15), "b": (2, 6)},
    ),
    Story(
        name="room",
        text="A room is {a} metres long and {b} metres wide. How many metres is it around?",
        answer="2 * (a + b)",
        steps="{a}+{b}={a + b};2*{a + b}={2 * (a + b)}",
        numbers={"a": (4, 30), "b": (3, 20)},
    ),
    Story(
        name="bus",
        text="A bus starts with {a} people, {b} get off and {c} get on. How many are in it then?",
        answer="a - b + c",
        steps="{a}-{b}={a - b};{a - b}+{c}={a - b + c}",
        numbers={"a": (12, 50), "b": (2, 20), "c": (2, 20)},
        where="a > b",
    ),
    Story(
        name="eggs",
        text="Eggs come in boxes of {b}. How many boxes does it take to hold {a} eggs?",
        answer="-(-a // b)",
        steps="{a}+{b - 1}={a + b - 1};{a + b - 1}/{b}={-(-a // b)}",
        numbers={"a": (15, 80), "b": (4, 12)},
    ),
    Story(
        name="legs",
        text="A farmer has {a} hens and {b} cows. How many legs do they have in all?",
        answer="2 * a + 4 * b",
        steps="2*{a}={2 * a};4*{b}={4 * b};{2 * a}+{4 * b}={2 * a + 4 * b}",
        numbers={"a": (3, 20), "b": (3, 20)},
    ),
    Story(
        name="pump",
        text="A pump moves {b} litres in {a} minutes. How many litres does it move in {c} minutes?",
        answer="b // a * c",
        steps="{b}/{a}={b // a};{b // a}*{c}={b // a * c}",
        numbers={"a": (2, 6), "b": (10, 60), "c": (2, 12)},
        where="b % a == 0",
    ),
    Story(
        name="partner",
        text="Two numbers add up to {a}, and one of them is {b}. What is the other one?",
        answer="a - b",
        steps="{a}-{b}={a - b}",
        numbers={"a": (20, 90), "b": (3, 60)},
        where="a > b",
    ),
    Story(
        name="doubled",
        text="A number is doubled, then {a} is added, which gives {b}. What is the number?",
        answer="(b - a) // 2",
        steps="{b}-{a}={b - a};{b - a}/2={(b - a) // 2}",
        numbers={"a": (2, 20), "b": (10, 80)},
        where="b > a and (b - a) % 2 == 0",
    ),
)


def program_of(story: Story, numbers: dict[str, int]) -> str:
    """A program that finds the answer of a story with these numbers."""
    given = "\n".join(f"    {name} = {value}" for name, value in numbers.items())
    return f"def solve():\n{given}\n    return {story.answer}\n"


def filled(text: str, numbers: dict[str, int]) -> str:
    """A text of ours with numbers, and what follows from them, in its gaps."""
    code = compile(f"f{text!r}", "story", "eval")
    found: str = eval(code, {"__builtins__": {}}, dict(numbers))
    return found


def records(each: int = EACH, seed: int = SEED) -> Iterator[dict[str, Any]]:
    """Every problem as a line of the file, story by story in turn."""
    runner = Runner(size=1)
    try:
        asked: set[str] = set()
        for number in range(each):
            for story in STORIES:
                numbers, text = drawn(story, Seeds(seed).child(story.name), number, asked)
                asked.add(text)
                yield record(story, numbers, text, runner, seed)
    finally:
        runner.close()


def drawn(story: Story, seeds: Seeds, number: int, asked: set[str]) -> tuple[dict[str, int], str]:
    """Numbers that make sense, and a text that was not asked before."""
    stream = seeds.stream("numbers", number)
    while True:
        numbers = {name: stream.randint(*ends) for name, ends in story.numbers.items()}
        text = filled(story.text, numbers)
        sound = eval(story.where, {"__builtins__": {}}, dict(numbers))
        if sound and text not in asked:
            return numbers, text


def record(
    story: Story, numbers: dict[str, int], text: str, runner: Runner, seed: int
) -> dict[str, Any]:
    """One problem with the answer its program gives in the sandbox."""
    program = program_of(story, numbers)
    look_at(program)
    ran = runner(program, "integer", {}, twice=True)
    answer = Answer(type="integer", value=ran.value)
    return {
        "problem": text,
        "answer": {"type": answer.type, "value": answer.value},
        "solutions": {"words": f"{filled(story.steps, numbers)}#{answer.value}"},
        "tags": [f"stories/{story.name}"],
        "source": {
            "kind": "authored",
            "by": "hand",
            "made_with": "limite.problems.shipped.stories",
            "seed": seed,
        },
        "program": program,
        "verification": {"method": "program-in-sandbox", "hash_seeds": 2},
    }


def main() -> None:
    """Writes the file to standard output."""
    for line in records():
        sys.stdout.write(json.dumps(line, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
