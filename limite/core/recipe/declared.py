"""Declared changes: what may be different when a run goes on, if its user says so by name.

A run's receipt keeps every change: what it was, the stage and the step it happened at, and the
whole recipe before it. A checkpoint up to there is of the recipe before, a later one of that after.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import attrs

from limite.core.errors import LimiteError, did_you_mean
from limite.core.receipts import BEGUN, FINISHED, LEFT, differences, recipe_hash
from limite.core.recipe.recipe import Recipe
from limite.core.recipe.stages import RL, SFT, Distill, Preference

PROTOCOL, DATA, TURNS, VERSIONS = "protocol", "data", "turns", "versions"
RANKS = "ranks"
KINDS = (PROTOCOL, DATA, TURNS, VERSIONS, RANKS)

SOFTWARE = ("limite", "limite_sha256", "python", "packages", "plugins", "kernels", "tiles_sha256")
"""The parts of a receipt that a change of ``versions`` may touch."""

SOFTWARE_KEPT, SETTINGS_KEPT = "software", "settings"
"""Where a checkpoint keeps them, and what the recipe said of model and stage: so that a difference
can be told by name."""

EXACT = "exact_distributed_rng_resume"
"""Of a recorded change of ranks, and False: sums of gradients are made in another order."""

_OF_EVERY_STAGE = (VERSIONS, RANKS)
_PROTOCOL_FIELDS = (
    "budget",
    "max_tokens",
    "overlong",
    "repetition",
    "repetition_penalty",
    "mask_truncated",
)
_TURNS_FIELDS = ("rollout_prefetch_schedule", "overlap_actor_learner")
_DATA_FIELDS = ("problems", "documents", "traces", "pairs")
FIELDS: Mapping[str, tuple[tuple[type, ...], tuple[str, ...]]] = {
    PROTOCOL: ((RL,), _PROTOCOL_FIELDS),
    TURNS: ((RL,), _TURNS_FIELDS),
    DATA: ((RL, SFT, Distill, Preference), _DATA_FIELDS),
}
"""Which fields of which stages a change of a kind may touch."""

CHANGES = "changes"
"""Where the receipt of a run keeps them."""

_HASH_LENGTH = 8
_OF_STAGE = re.compile(r"recipe\.stages\.([^.]+)\.")
_WRITTEN = re.compile(r"([a-z]+)=([^@]+)@([0-9]{1,12})/([0-9a-f]{8})")


@attrs.frozen
class Place:
    """How far a run has come: the stage it is in, and the step of its newest good checkpoint."""

    stage: str
    step: int

    def __str__(self) -> str:
        return f"{self.stage}@{self.step}"


@attrs.frozen
class Declaration:
    """What a user declares: ``protocol=rl@40/1f3a9c22``.

    That is the kind of change, where the run stands, and the contract that was in force until
    then, by the beginning of its hash.
    """

    kind: str
    place: Place
    contract: str

    def __str__(self) -> str:
        return f"{self.kind}={self.place}/{self.contract}"

    @classmethod
    def read(cls, text: str) -> Declaration:
        """The declaration of a command line."""
        found = _WRITTEN.fullmatch(text)
        kind = text.partition("=")[0]
        if kind not in KINDS:
            raise LimiteError(
                f"--declare: {text!r}: a change is one of {', '.join(KINDS)}"
                f"{did_you_mean(kind, KINDS)}"
            )
        if found is None:
            raise LimiteError(
                f"--declare: expected {kind}=STAGE@STEP/CONTRACT, as `limite resume` without it "
                f"tells, got {text!r}"
            )
        return cls(found[1], Place(found[2], int(found[3])), found[4])


@attrs.define(kw_only=True)
class Changed:
    """What differs between a run as it was and as it is to go on."""

    kinds: dict[str, list[str]] = attrs.field(factory=dict)
    """Lines ``place: then -> now`` of what may be declared, by the kind of change."""
    never: list[str] = attrs.field(factory=list)
    """Those of what may not."""
    stages: dict[str, list[str]] = attrs.field(factory=dict)
    """The stages whose settings differ, by the kind of change."""

    @property
    def lines(self) -> list[str]:
        return [*self.never, *(line for lines in self.kinds.values() for line in lines)]

    def add(self, kind: str | None, lines: Iterable[str], stage: str | None = None) -> None:
        """Takes note of ``lines``; without a kind they can never be declared."""
        lines = list(lines)
        if not lines:
            return
        if kind is None:
            self.never += lines
            return
        self.kinds.setdefault(kind, []).extend(lines)
        if stage is not None and stage not in self.stages.setdefault(kind, []):
            self.stages[kind].append(stage)


def compare(
    was: Mapping[str, Any],
    same_recipe: Mapping[str, Any],
    recipe: Recipe,
    data: Mapping[str, Any],
    finished: Sequence[str],
) -> Changed:
    """What differs between the receipt ``was``, what it would be now (``same_recipe``), and the
    recipe that is to go on (``recipe``, as plain data ``data``).

    Settings of ``finished`` stages cannot change, nor what their files hold.
    """
    found = Changed()
    for key in [*was, *(key for key in same_recipe if key not in was)]:
        if key in (CHANGES, BEGUN, FINISHED, LEFT, "recipe_sha256"):
            continue
        pair = [{key: each[key]} if key in each else {} for each in (was, same_recipe)]
        for line in differences(*pair):
            # A setting that another version brings, with its default.
            brought = key == "recipe" and ": (absent) -> " in line
            found.add(VERSIONS if key in SOFTWARE or brought else None, [line])
    ahead = [name for name in same_recipe["only"] if name not in finished]
    # Where one rank does all that is left, the others change nothing.
    if any(recipe.stages[name].shared_out for name in ahead if name in recipe.stages):
        found.add(RANKS, differences(ranks_of(was), ranks_of(same_recipe)))
    before = same_recipe["recipe"]
    for part in sorted(before.keys() | data.keys()):
        if part != "stages":
            pair = [
                {f"recipe.{part}": each[part]} if part in each else {} for each in (before, data)
            ]
            found.add(None, differences(*pair))
    for name in dict.fromkeys([*before["stages"], *data["stages"]]):
        old, new = before["stages"].get(name, {}), data["stages"].get(name, {})
        for field in sorted(old.keys() | new.keys()):
            where = f"recipe.stages.{name}.{field}"
            pair = [{where: each[field]} if field in each else {} for each in (old, new)]
            kind = None if name in finished else kind_of(recipe.stages.get(name), field)
            found.add(kind, differences(*pair), name)
    if list(before["stages"]) != list(data["stages"]):
        found.add(None, ["recipe.stages: other stages, or in another order"])
    return found


def kind_of(stage: object, field: str) -> str | None:
    """The kind of change that another value of a stage's field is; None: one that cannot be."""
    for kind, (types, fields) in FIELDS.items():
        if isinstance(stage, types) and field in fields:
            return kind
    return None


def ranks_of(receipt: Mapping[str, Any]) -> dict[str, Any]:
    """How many ranks a run has, and whether they share out the weights."""
    hardware = receipt.get("hardware", {})
    return {"ranks": hardware.get("ranks", 1), "sharded": hardware.get("sharded", False)}


def with_ranks_of(hardware: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    """What a receipt says of ``hardware``, with the ranks of ``other``."""
    own = {key: value for key, value in hardware.items() if key not in ("ranks", "sharded")}
    return own | {key: other[key] for key in ("ranks", "sharded") if key in other}


def contract_of(kind: str, receipt: Mapping[str, Any]) -> str:
    """The beginning of the hash of everything in force that a kind of change may touch."""
    if kind == VERSIONS:
        return recipe_hash({key: receipt.get(key) for key in SOFTWARE})[:_HASH_LENGTH]
    if kind == RANKS:
        return recipe_hash(ranks_of(receipt))[:_HASH_LENGTH]
    _, fields = FIELDS[kind]
    stages = receipt["recipe"]["stages"]
    terms = {
        name: {field: stage[field] for field in fields if field in stage}
        for name, stage in stages.items()
    }
    files = receipt.get("stage_files") if kind == DATA else None
    return recipe_hash({"stages": terms, "files": files})[:_HASH_LENGTH]


def _instead(path: object, never: Sequence[str]) -> str:
    """What to do where settings differ whose change nobody can declare."""
    settings = [line.partition(": ")[0] for line in never if line.startswith("recipe.")]
    if not settings:
        return ""
    some = ", ".join(each.removeprefix("recipe.") for each in settings)
    stages = [_OF_STAGE.match(each) for each in settings]
    names = list(dict.fromkeys(found[1] for found in stages if found is not None))
    command = f"limite run {path}/recipe.toml"
    if len(names) and None not in stages:
        command = f"limite run {path}" + "".join(f" --only {name}" for name in names)
    return (
        f"\nno declaration lets a run go on with another value of {some}; leave that as it was, or "
        f"train anew with it, in another folder:\n  {command} --set ..."
    )


def refuse_undeclared(
    path: object,
    was: Mapping[str, Any],
    changed: Changed,
    place: Place | None,
    declared: Sequence[Declaration],
) -> None:
    """Refuses what differs unless every kind of it is declared, for this place and contract."""
    listing = "\n  ".join(changed.lines)
    if changed.never or (changed.lines and place is None):
        advice = ""
        if place is None:
            advice = "\nevery stage of it is finished"
        elif any(line.startswith("stage_files.") for line in changed.never):
            advice = (
                "\nother data go into a file of another name, which --set names: what was trained "
                "on before must stay readable"
            )
        raise LimiteError(
            f"{path}: this run cannot go on as it was, because something differs "
            f"(then -> now):\n  {listing}{advice}{_instead(path, changed.never)}"
        )
    needed = [
        Declaration(kind, place, contract_of(kind, was))
        for kind in changed.kinds
        if place is not None
    ]
    missing = [each for each in needed if each not in declared]
    # What is declared and is not there is a misunderstanding, and stops the run as well.
    idle = [each for each in declared if each not in needed]
    if missing:
        wrong = "".join(f"\nit is not {each}" for each in idle)
        raise LimiteError(
            f"{path}: this run cannot go on as it was, because something differs "
            f"(then -> now):\n  {listing}\n"
            "to go on all the same, and have that recorded, declare it:\n  "
            + " ".join(f"--declare {each}" for each in missing)
            + wrong
        )
    if idle:
        raise LimiteError(
            f"{path}: --declare {idle[0]}: nothing of that kind differs"
            + ("" if place is None else f"; the run is at {place}")
        )


def record(was: Mapping[str, Any], changed: Changed, place: Place) -> dict[str, Any]:
    """What the receipt of a run keeps of a change."""
    return {
        "stage": place.stage,
        "step": place.step,
        "kinds": {
            kind: {
                "differences": lines,
                "stages": changed.stages.get(kind, []),
                "contract": contract_of(kind, was),
            }
            for kind, lines in changed.kinds.items()
        },
        "recipe_sha256": was["recipe_sha256"],
        "recipe": was["recipe"],
        "versions": {key: was[key] for key in SOFTWARE if key in was}
        if VERSIONS in changed.kinds
        else None,
        **({RANKS: ranks_of(was), EXACT: False} if RANKS in changed.kinds else {}),
    }


def _settings(recipe: Mapping[str, Any], stage: str) -> dict[str, Any]:
    found = {key: recipe.get(key) for key in ("seed", "model", "tokenizer")}
    return {**found, stage: recipe["stages"].get(stage)}


def _software(receipt: Mapping[str, Any]) -> dict[str, Any]:
    return {key: receipt[key] for key in SOFTWARE if key in receipt}


def terms_of(receipt: Mapping[str, Any], stage: str) -> dict[str, Any]:
    """What a checkpoint of a stage is written under, from the run's receipt."""
    return {
        "recipe_sha256": receipt["recipe_sha256"],
        "stage": stage,
        SETTINGS_KEPT: _settings(receipt["recipe"], stage),
        SOFTWARE_KEPT: _software(receipt),
        RANKS: ranks_of(receipt),
    }


def terms_at(
    terms: Mapping[str, Any],
    changes: Sequence[Mapping[str, Any]],
    order: Sequence[str],
    stage: str,
    step: int,
) -> dict[str, Any]:
    """What a checkpoint of ``step`` was written under, where the newest are under ``terms``."""
    here = (order.index(stage), step)
    found = dict(terms)
    for change in reversed(changes):
        if here <= (order.index(change["stage"]), change["step"]):
            found["recipe_sha256"] = change["recipe_sha256"]
            for name, before in (
                (SETTINGS_KEPT, _settings(change["recipe"], stage)),
                (SOFTWARE_KEPT, change.get("versions")),
                (RANKS, change.get(RANKS)),
            ):
                if before is not None and name in found:
                    found[name] = before
    return found


def changes_at(changes: Sequence[Mapping[str, Any]], stage: str, step: int) -> frozenset[str]:
    """The kinds of change that a stage which goes on after ``step`` has to answer to."""
    return frozenset(
        kind
        for change in changes
        if (change["stage"], change["step"]) == (stage, step)
        for kind, told in change["kinds"].items()
        if kind in _OF_EVERY_STAGE or stage in told["stages"]
    )


def refuse_before_change(
    changes: Sequence[Mapping[str, Any]], stage: str, step: int, path: object
) -> None:
    """Refuses to go on from before a declared change, where other settings were in force."""
    for change in changes:
        if change["stage"] == stage and step < change["step"]:
            raise LimiteError(
                f"{path}: stage {stage!r} can only go on from step {step}, which is before the "
                f"change of {', '.join(change['kinds'])} declared at step {change['step']}; the "
                "checkpoint of that step is gone or damaged. Run the stage again: "
                f"limite run {path} --only {stage}"
            )
