"""Lines of settings in TOML files."""

from __future__ import annotations

import tomllib
from typing import Any

import pytest
import tomli_w
from hypothesis import given
from hypothesis import strategies as st

from limite.core.config_locate import TomlLines

TEXT = '''\
# a comment = 1
name = "x" # ] another
"odd key" = 'C:\\'
a.b . "c d" = [ 1,
  2, # two, ]
  { x = 1, y = """
two [
lines""" }, [
  3, 4 ],
]
date = 1979-05-27T07:32:00Z

[stages.rl]
groups = 4
problems = { sources = { gcd = 1, sum-chain = 2.5e-3 }, difficulty = [0.0,
  1.0] }

[ stages . "rl 2" ]
type = "rl"
[stages.rl.optimizer]
lr = 1_000

[[things]]
n = 1
[[things]]
n = 2
[things.inner]
m = 3
[[things.parts]]
[[things.parts]]
p = "\\u0041\\"]"
'''


@pytest.mark.parametrize(
    ("path", "line"),
    [
        (("name",), 2),
        (("odd key",), 3),
        (("a",), 4),
        (("a", "b", "c d"), 4),
        (("a", "b", "c d", 0), 4),
        (("a", "b", "c d", 1), 5),
        (("a", "b", "c d", 2, "y"), 6),
        (("a", "b", "c d", 3), 8),
        (("a", "b", "c d", 3, 1), 9),
        (("date",), 11),
        (("stages",), 13),
        (("stages", "rl"), 13),
        (("stages", "rl", "groups"), 14),
        (("stages", "rl", "problems", "sources", "sum-chain"), 15),
        (("stages", "rl", "problems", "difficulty", 1), 16),
        (("stages", "rl", "rollouts"), 13),
        (("stages", "rl 2", "type"), 19),
        (("stages", "rl", "optimizer", "lr"), 21),
        (("things", 0, "n"), 24),
        (("things", 1, "n"), 26),
        (("things", 1, "inner", "m"), 28),
        (("things", 1, "parts", 0), 29),
        (("things", 1, "parts", 1, "p"), 31),
        (("nothing",), None),
    ],
)
def test_the_line_of_a_setting(path: tuple[str | int, ...], line: int | None) -> None:
    tomllib.loads(TEXT)
    assert TomlLines(TEXT).find(path) == line
    assert TomlLines(TEXT.replace("\n", "\r\n")).find(path) == line


def paths(value: Any, path: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    if isinstance(value, dict):
        below = [found for key, item in value.items() for found in paths(item, (*path, key))]
    elif isinstance(value, list):
        below = [found for at, item in enumerate(value) for found in paths(item, (*path, at))]
    else:
        below = []
    return [path, *below] if path else below


KEYS = st.text(st.characters(codec="utf-8", exclude_characters="\x7f"), max_size=5)
LEAVES = (
    st.integers(-(10**9), 10**9)
    | st.floats(allow_nan=False)
    | st.booleans()
    | st.text(st.characters(codec="utf-8"), max_size=8)
)
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=12,
)


@given(data=st.dictionaries(KEYS, VALUES, max_size=4), multiline=st.booleans())
def test_every_path_of_a_written_file_is_found_on_its_own_line(
    data: dict[str, Any], multiline: bool
) -> None:
    text = tomli_w.dumps(data, multiline_strings=multiline)
    lines = TomlLines(text)
    read = tomllib.loads(text)
    places = text.replace("\r\n", "\n").split("\n")
    for path in paths(read):
        assert path in lines.lines
        assert 1 <= lines.lines[path] <= len(places)
    # What stands further up in the file has the smaller line.
    top = [lines.lines[(key,)] for key, value in read.items() if not isinstance(value, dict | list)]
    assert top == sorted(set(top))
