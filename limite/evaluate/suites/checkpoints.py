"""The publisher's own checkpoints: which revisions its suite measures, and how each is asked.

A directory tells its revision where it was downloaded as one: in a cache of the Hugging Face hub,
or by the records that a download leaves beside the files.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import attrs

from limite.core.errors import LimiteError
from limite.core.pretrained.directory import CONFIG_FILE
from limite.core.pretrained.generation import GENERATION_FILE
from limite.core.pretrained.json_files import read_object
from limite.evaluate.profiles import CHAT, FEW_SHOT

ARCHITECTURE, KIND = "LimiteForCausalLM", "limite"
TERMINATOR, OTHER_END = 151643, 151645
"""The id that begins, ends and pads, and the one that ends a turn of other models with these ids:
with that one as its end the same weights have scored nothing."""
IDS = ("bos_token_id", "eos_token_id", "pad_token_id")
_REVISION = re.compile(r"[0-9a-f]{40}")


@attrs.frozen(kw_only=True)
class Pinned:
    """A checkpoint of the publisher: the revision that is measured, and by which profile."""

    revision: str
    profile: str


PINNED: Mapping[str, Pinned] = {
    "limite-1b-base": Pinned(revision="7e925d06b8f9a73ebdd0e571d8095eaaa4f954ff", profile=FEW_SHOT),
    "limite-1b-base-soup": Pinned(
        revision="7f6fa5440358a33828da612cfc3a0eb6e9368db8", profile=FEW_SHOT
    ),
    "limite-1b-violetto": Pinned(revision="b1f3d572ccacb6919f4d64c321b70ba034ddaef2", profile=CHAT),
}


def revision_of(folder: Path) -> str | None:
    """The revision that a directory was downloaded as; None where nothing tells it."""
    place = folder.resolve()
    for each in (folder.absolute(), place):
        if each.parent.name == "snapshots" and _REVISION.fullmatch(each.name):
            return each.name
    records = place / ".cache" / "huggingface" / "download"
    found = {
        line
        for record in records.glob("*.metadata")
        for line in record.read_text(encoding="utf-8", errors="replace").splitlines()[:1]
    }
    only = next(iter(found)) if len(found) == 1 else ""
    return only if _REVISION.fullmatch(only) else None


def name_of(folder: Path) -> str | None:
    """The publisher's name of a checkpoint, by its revision or by how its folder is called."""
    revision = revision_of(folder)
    for name, pinned in PINNED.items():
        if revision == pinned.revision:
            return name
    place = folder.absolute()
    called = place.name
    if place.parent.name == "snapshots":  # models--ORGANISATION--NAME/snapshots/REVISION
        called = place.parent.parent.name.rpartition("--")[2]
    return called if called in PINNED else None


def refuse_other(folder: Path, profile: str) -> None:
    """A LimiteError for a checkpoint that the suite does not measure, or not by this profile.

    Models of other publishers are not held to this.
    """
    wrong = [*id_faults(folder)]
    name, revision = name_of(folder), revision_of(folder)
    if name is not None:
        pinned = PINNED[name]
        if revision not in (None, pinned.revision):
            wrong.append(f"revision {revision} of {name}, and the suite measures {pinned.revision}")
        if profile != pinned.profile:
            shots = ", with --shots" if pinned.profile == FEW_SHOT else ""
            wrong.append(
                f"{name} is asked by the profile {pinned.profile}{shots}, not by {profile}"
            )
    if wrong:
        raise LimiteError("\n".join(f"{folder}: {each}" for each in wrong))


def notes_on(folder: Path) -> Iterator[str]:
    """What cannot be known of a checkpoint that the suite pins."""
    name = name_of(folder)
    if name is not None and revision_of(folder) is None:
        yield (
            f"{folder}: nothing tells its revision, so it is not known to be {name} at "
            f"{PINNED[name].revision}, which the suite measures"
        )


def id_faults(folder: str | Path) -> Iterator[str]:
    """What is wrong with the architecture and the special ids of a checkpoint of this family.

    One with a vocabulary of its own, which has no such ids, is none of the publisher's.
    """
    folder = Path(folder)
    if not (folder / CONFIG_FILE).is_file():
        return
    config = read_object(folder / CONFIG_FILE) or {}
    said = config.get("architectures"), config.get("model_type")
    architectures = said[0] if isinstance(said[0], list) else []
    if said[1] != KIND and ARCHITECTURE not in architectures:
        return
    vocabulary = config.get("vocab_size")
    if isinstance(vocabulary, int) and vocabulary <= OTHER_END:
        return
    if said[1] != KIND or architectures != [ARCHITECTURE]:
        yield (
            f"{CONFIG_FILE}: architectures {architectures} and model_type {said[1]!r}, expected "
            f"{ARCHITECTURE} and {KIND}"
        )
    for name in (CONFIG_FILE, GENERATION_FILE):
        if not (folder / name).is_file():
            yield f"{name}: missing; it says where a response ends"
            continue
        values = config if name == CONFIG_FILE else read_object(folder / name) or {}
        yield from (f"{name}: {fault}" for fault in _ids(values))


def _ids(values: Mapping[str, Any]) -> Iterator[str]:
    for key in IDS:
        found = values.get(key)
        ids = found if isinstance(found, list) else [found]
        if ids == [TERMINATOR]:
            continue
        fatal = (
            f"; with {OTHER_END} as an end the same weights score nothing"
            if OTHER_END in ids
            else ""
        )
        yield f"{key} is {found}, expected {TERMINATOR}{fatal}"
    for key, found in values.items():
        ids = found if isinstance(found, list) else [found]
        if key.endswith(("token_id", "token_ids")) and key not in IDS and OTHER_END in ids:
            yield f"{key} holds {OTHER_END}, which ends no response of this model"
