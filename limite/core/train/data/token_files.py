"""Where texts to pretrain on lie: a file of lines, a folder of them, or a saved data set.

Nothing here reads a text: settings ask it for the files that a stage is bound to.
"""

from __future__ import annotations

from pathlib import Path

from limite.core.errors import LimiteError, did_you_mean
from limite.core.jsonl import read_json

LINES = (".jsonl", ".jsonl.zst")
COLUMNS = ".arrow"
STATE, SPLITS = "state.json", "dataset_dict.json"


def text_files(said: str) -> list[Path]:
    """The files of a source, in order; a LimiteError where there are none.

    A folder is one that ``Dataset.save_to_disk`` left, or holds ``.jsonl``, ``.jsonl.zst`` and
    ``.arrow`` files, which are read by name.
    """
    path = Path(said).expanduser()
    if path.is_dir():
        return _in_folder(path)
    if not path.is_file():
        folder = path.parent
        siblings = [each.name for each in folder.iterdir()] if folder.is_dir() else []
        near = did_you_mean(path.name, siblings)
        raise LimiteError(f"there is no file or folder {said!r}{near}")
    if not _is_text(path):
        raise LimiteError(f"{said}: expected a name that ends in {', '.join(LINES)} or {COLUMNS}")
    return [path]


def bound_files(said: str) -> list[str]:
    """The same, and what says their order: a run is bound to what they hold. Never an error."""
    try:
        found = text_files(said)
    except LimiteError:  # told when the recipe is checked
        return [said]
    state = Path(said).expanduser() / STATE
    return [*([str(state)] if state.is_file() else []), *map(str, found)]


def _in_folder(folder: Path) -> list[Path]:
    if (folder / SPLITS).is_file():
        splits = sorted(each.name for each in folder.iterdir() if (each / STATE).is_file())
        there = ", ".join(splits) or "none"
        raise LimiteError(f"{folder}: holds splits of a data set, and one is needed: {there}")
    if (folder / STATE).is_file():
        return saved_files(folder)
    found = sorted(each for each in folder.iterdir() if each.is_file() and _is_text(each))
    if not found:
        raise LimiteError(f"{folder}: holds no file that ends in {', '.join(LINES)} or {COLUMNS}")
    return found


def saved_files(folder: Path) -> list[Path]:
    """The files that a saved data set lists, in its order."""
    state = read_json(folder / STATE)
    try:
        names = [str(each["filename"]) for each in state["_data_files"]]
    except (KeyError, TypeError) as error:
        message = f"{folder / STATE}: lists no '_data_files', so this is no data set"
        raise LimiteError(message) from error
    found = [folder / name for name in names]
    gone = [each.name for each in found if not each.is_file()]
    if gone or not found:
        what = f"{', '.join(gone[:3])}, which is not there" if gone else "no file"
        raise LimiteError(f"{folder / STATE}: lists {what}")
    return found


def _is_text(path: Path) -> bool:
    return path.name.endswith((*LINES, COLUMNS))
