"""A directory that is whole or not there: written aside, renamed at the end, never over another."""

from __future__ import annotations

import contextlib
import secrets
import shutil
from collections.abc import Iterator
from pathlib import Path

from limite.core.errors import LimiteError, RunFailed
from limite.core.jsonl import storage_error, sync_directory, sync_file
from limite.core.pretrained.plain_file import is_there


def refuse_existing(target: Path, option: str = "--to") -> None:
    """Says so if ``target`` exists, or if the folder it is to stand in does not."""
    if is_there(target):
        raise LimiteError(f"{option}: {target} exists and is not overwritten; give another name")
    if not target.absolute().parent.is_dir():
        raise LimiteError(
            f"{option}: there is no folder {str(target.absolute().parent)!r}; make it first"
        )


@contextlib.contextmanager
def new_directory(target: str | Path, option: str = "--to") -> Iterator[Path]:
    """A folder to write in, which becomes ``target`` if nothing fails; otherwise it goes again.

    Errors of the disk are told as a LimiteError.
    """
    target = Path(target)
    refuse_existing(target, option)
    aside = target.absolute().with_name(f".writing-{target.name}-{secrets.token_hex(4)}")
    try:
        try:
            _make(aside, option)
            yield aside
            for file in sorted(aside.iterdir()):
                sync_file(file)
            sync_directory(aside)
            _publish(aside, target, option)
            try:
                sync_directory(target.absolute().parent)
            except OSError:
                target.rename(aside)
                raise
        finally:
            shutil.rmtree(aside, ignore_errors=True)
    except OSError as error:
        raise storage_error(error, target) from error
    except KeyboardInterrupt:
        if is_there(target):
            raise
        raise KeyboardInterrupt(f"stopped; nothing was written to {target}") from None


def _make(aside: Path, option: str) -> None:
    try:
        aside.mkdir()
    except OSError as error:
        told = storage_error(error, aside.parent)
        if isinstance(told, RunFailed):  # no space
            raise told from error
        raise LimiteError(
            f"{option}: cannot write in {aside.parent}: {error.strerror}; name a folder you may "
            "write in"
        ) from error


def _publish(aside: Path, target: Path, option: str) -> None:
    # A rename would replace an empty folder that someone has made meanwhile.
    try:
        target.mkdir()
    except FileExistsError:
        refuse_existing(target, option)
        raise
    try:
        aside.rename(target)
    except OSError:
        with contextlib.suppress(OSError):  # it is somebody else's by now
            target.rmdir()
        raise
