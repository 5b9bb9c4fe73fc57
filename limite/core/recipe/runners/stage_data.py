"""What a stage makes of the texts it was given, once: a folder of columns beside its checkpoints.

It is there as long as the stage runs, so that resuming tokenises nothing again.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from limite.core.jsonl import storage_error, sync_directory, sync_file

if TYPE_CHECKING:
    from limite.core.recipe.context import StageContext

DATA, MAKING = "data", ".making-data"


def made_once(context: StageContext, make: Callable[[Path], None]) -> Path:
    """The stage's data folder; ``make`` fills a new one, which appears whole or not at all.

    Of several ranks one fills it, and the others find it.
    """
    if context.writes:
        _made_once(context, make)
    context.ranks.follow(f"the texts of stage {context.name!r}")
    return context.directory / DATA


def _made_once(context: StageContext, make: Callable[[Path], None]) -> None:
    folder, aside = context.directory / DATA, context.directory / MAKING
    shutil.rmtree(aside, ignore_errors=True)
    if folder.is_dir():
        return
    try:
        aside.mkdir()
        make(aside)
        for place in aside.iterdir():
            sync_file(place)
        sync_directory(aside)
        aside.rename(folder)
        sync_directory(folder.parent)
    except OSError as error:
        raise storage_error(error, folder, "free some and resume") from error
    finally:
        shutil.rmtree(aside, ignore_errors=True)


def file_made_once(place: Path, make: Callable[[Path], None]) -> Path:
    """One file of the data folder, likewise."""
    aside = place.with_name(f".{place.name}.making")
    aside.unlink(missing_ok=True)
    if not place.exists():
        make(aside)
        sync_file(aside)
        aside.rename(place)
        sync_directory(place.parent)
    return place


def forget_data(context: StageContext) -> None:
    """Removes the folder of a stage that is done."""
    shutil.rmtree(context.directory / DATA, ignore_errors=True)
