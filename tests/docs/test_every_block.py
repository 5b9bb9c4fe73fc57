"""Every command and every snippet of every page is run, or listed with the reason why not.

The blocks of a page share a folder, in which ``places`` puts what the page takes for granted.
"""

from __future__ import annotations

import contextlib
import io
import json
import tomllib
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from limite.core.discover import load_registry
from limite.core.recipe.check import check_file
from tests.docs import reading
from tests.docs.blocks import LANGUAGES, ROOT, Block, blocks_of, commands, pages
from tests.docs.places import PLACES, furnish
from tests.docs.shell import look_at, run, run_lent
from tests.docs.table import (
    NEEDS,
    TABLE,
    Elsewhere,
    Ends,
    Lent,
    Nightly,
    Other,
    Part,
    Smaller,
)

PAGES = {
    str(page.relative_to(ROOT)): blocks_of(page.read_text(encoding="utf-8")) for page in pages()
}


class Reader:
    """Somebody who does all that a page says, from its top to its end, in one folder."""

    def __init__(self, page: str, folder: Path, *, nightly: bool) -> None:
        self.page, self.folder, self.nightly = page, folder, nightly
        self.names: dict[str, Any] = {"__name__": "page"}
        self.table = TABLE.get(page, {})
        self.ran = 0

    def arrive_at(self, what: str) -> None:
        place = PLACES.get(self.page, {}).get(what)
        if place is not None:
            self.names.update(place(self.folder) or {})

    def read(self, block: Block) -> None:
        self.arrive_at(block.name)
        entry = self.table.get(block.name)
        for command in commands(block):
            self.call(command)
        if block.language == "python":
            code = compile(block.text, f"{self.page}:{block.line}", "exec", dont_inherit=True)
            if not isinstance(entry, Elsewhere):
                with (
                    pytest.MonkeyPatch.context() as patch,
                    contextlib.redirect_stdout(io.StringIO()),
                ):
                    patch.chdir(self.folder)
                    patch.syspath_prepend(self.folder / "examples" / "limite-softclip")
                    exec(code, self.names)
        elif block.language == "toml":
            self.parse(block, entry)
        elif block.language == "json":
            for line in block.text.splitlines():
                json.loads(line)

    def call(self, command: str) -> None:
        self.arrive_at(command)
        entry = self.table.get(command)
        look_at(command)
        if isinstance(entry, Elsewhere) or (isinstance(entry, Nightly) and not self.nightly):
            return
        expected = entry.codes if isinstance(entry, Ends | Nightly) else (0,)
        if isinstance(entry, Smaller) and not self.nightly:
            assert entry.old in command
            command = command.replace(entry.old, entry.new)
        if isinstance(entry, Lent):
            ended = run_lent(command, self.folder, self.folder / entry.folder)
        else:
            ended = run(command, self.folder)
        self.ran += 1
        assert ended.code in expected, f"{self.page}: {command}\n{ended.said[-3000:]}"
        if isinstance(entry, Ends) and entry.what:
            assert entry.what in ended.said, f"{self.page}: {command}\n{ended.said[-3000:]}"
            page = (ROOT / self.page).read_text(encoding="utf-8")
            assert entry.what in page, f"{self.page} no longer shows {entry.what!r}"

    def parse(self, block: Block, entry: object) -> None:
        data = tomllib.loads(block.text)
        place = self.folder / f"{block.name.replace(' ', '-')}.toml"
        if isinstance(entry, Other):
            place.write_text(block.text, encoding="utf-8")
            with pytest.MonkeyPatch.context() as patch:
                patch.chdir(self.folder)
                getattr(reading, entry.read_by)(place)
            return
        part = entry if isinstance(entry, Part) else Part()
        name = "" if "name" in data or "name" in part.after else 'name = "page"\n'
        if {"name", "stages"} <= set(data):  # a whole recipe, which commands call by its name
            place = self.folder / f"{data['name']}.toml"
        text = f"{name}{part.before}{block.text}{part.after}"
        place.write_text(text, encoding="utf-8")
        with pytest.MonkeyPatch.context() as patch:
            patch.chdir(self.folder)
            check_file(Path(place.name), (), load_registry())


@pytest.mark.parametrize("page", [page for page, blocks in PAGES.items() if blocks])
def test_what_a_page_says_is_done(page: str, tmp_path: Path) -> None:
    read_all(page, tmp_path, nightly=False)


@pytest.mark.nightly
@pytest.mark.parametrize(
    "page",
    [
        page
        for page, entries in TABLE.items()
        if any(isinstance(entry, Nightly | Smaller) for entry in entries.values())
    ],
)
def test_what_a_page_says_is_done_as_it_stands(page: str, tmp_path: Path) -> None:
    read_all(page, tmp_path, nightly=True)


def read_all(page: str, folder: Path, *, nightly: bool) -> None:
    furnish(folder)
    reader = Reader(page, folder, nightly=nightly)
    reader.arrive_at("")
    for block in PAGES[page]:
        reader.read(block)


def keys(page: str) -> Counter[str]:
    """What the tables may name on a page."""
    found = Counter(block.name for block in PAGES[page])
    for block in PAGES[page]:
        found.update(commands(block))
    return found


@pytest.mark.parametrize("page", PAGES)
def test_every_block_says_its_language(page: str) -> None:
    for block in PAGES[page]:
        assert block.language in LANGUAGES, f"{page}:{block.line}"


def test_the_tables_name_what_is_there() -> None:
    for table in (TABLE, PLACES):
        for page, entries in table.items():
            missing = set(entries) - set(keys(page)) - {""}
            assert not missing, f"{page} no longer says {missing}"


def test_what_is_not_run_has_a_reason_that_is_used() -> None:
    used = {
        entry.needs
        for entries in TABLE.values()
        for entry in entries.values()
        if isinstance(entry, Elsewhere)
    }
    assert used == set(NEEDS)
