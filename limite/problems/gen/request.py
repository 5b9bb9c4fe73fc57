"""What a file of problems is asked to hold: read from the command line or from a mix file."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs

from limite.core.errors import LimiteError, Mistake, SettingsError, did_you_mean
from limite.core.jsonl import BYTE_ORDER_MARK
from limite.problems.gen.families import Share, check_share, family, version_of, words_in

MOST = 1_000_000_000


@attrs.frozen(kw_only=True)
class Request:
    """All that the bytes of a file depend on.

    ``shard`` is (number from 1, of how many): a part of the file's places, to be merged later.
    With ``repeats`` a problem may stand in the file more than once. With ``top_up`` places that a
    family has no problems for go to others.
    """

    shares: Sequence[Share]
    count: int
    seed: int
    shard: tuple[int, int] | None = None
    verifier: str = "mathematics"
    repeats: bool = False
    top_up: bool = False

    @property
    def places(self) -> range:
        """The places of the whole file that are to be filled."""
        if self.shard is None:
            return range(self.count)
        number, of = self.shard
        return range(self.count * (number - 1) // of, self.count * number // of)

    def plain(self) -> dict[str, Any]:
        """The request as JSON, with the versions of its families."""
        return {
            "count": self.count,
            "seed": self.seed,
            "shard": None if self.shard is None else list(self.shard),
            "verifier": self.verifier,
            "repeats": self.repeats,
            **({"top_up": True} if self.top_up else {}),
            "families": [
                {
                    "name": share.name,
                    "weight": share.weight,
                    "difficulty": list(share.difficulty),
                    "settings": dict(share.settings),
                    "version": version_of(family(share.name, share.settings)),
                }
                for share in self.shares
            ],
        }

    @classmethod
    def of_plain(cls, data: Mapping[str, Any]) -> Request:
        """The request that ``plain`` wrote."""
        shard = data["shard"]
        return cls(
            count=data["count"],
            seed=data["seed"],
            shard=None if shard is None else (shard[0], shard[1]),
            verifier=data["verifier"],
            repeats=data["repeats"],
            top_up=data.get("top_up", False),
            shares=[
                Share(
                    name=each["name"],
                    weight=each["weight"],
                    difficulty=(each["difficulty"][0], each["difficulty"][1]),
                    settings=each["settings"],
                )
                for each in data["families"]
            ],
        )


def read_difficulty(text: str) -> tuple[float, float]:
    """``a`` or ``a:b``, both within 0 and 1."""
    low, colon, high = text.partition(":")
    try:
        ends = (float(low), float(high if colon else low))
    except ValueError:
        ends = (1.0, 0.0)
    if not 0.0 <= ends[0] <= ends[1] <= 1.0:
        raise LimiteError(
            f"--difficulty {text}: expected a or a:b with 0 <= a <= b <= 1, such as 0.2:0.8"
        )
    return ends


def read_ends(difficulty: str | None, level: str | None) -> tuple[float, float] | None:
    """What ``--difficulty`` or, in hundredths, ``--level`` says; None where neither is given."""
    if level is None:
        return None if difficulty is None else read_difficulty(difficulty)
    if difficulty is not None:
        raise LimiteError("--difficulty and --level say the same; give one of them")
    low, colon, high = level.partition(":")
    words = (low, high if colon else low)
    if not all(re.fullmatch("[0-9]{1,3}", word) for word in words):
        words = ("1", "0")
    ends = (int(words[0]), int(words[1]))
    if not 0 <= ends[0] <= ends[1] <= 100:
        raise LimiteError(
            f"--level {level}: expected a or a:b, whole numbers with 0 <= a <= b <= 100, "
            "such as 20:80"
        )
    return ends[0] / 100, ends[1] / 100


def read_shard(text: str) -> tuple[int, int]:
    """``i/n``: the i-th of n parts, counted from 1."""
    number, _, of = text.partition("/")
    if not (number.isdecimal() and of.isdecimal() and 1 <= int(number) <= int(of) <= 100_000):
        raise LimiteError(f"--shard {text}: expected i/n with 1 <= i <= n, such as 1/8")
    return int(number), int(of)


def read_families(text: str, difficulty: tuple[float, float]) -> list[Share]:
    """``NAME[:WEIGHT][,NAME[:WEIGHT]...]``."""
    shares = []
    for word in words_in(text, "the name of a family"):
        name, colon, weight = (part.strip() for part in word.partition(":"))
        if not name or (colon and not weight):
            lacks = "a weight is missing behind" if name else "a name is missing before"
            raise LimiteError(f"{word!r}: {lacks} the colon")
        try:
            share = Share(name=name, weight=float(weight) if colon else 1.0, difficulty=difficulty)
        except ValueError:
            raise LimiteError(f"{word}: the weight {weight!r} is not a number") from None
        check_share(share)
        shares.append(share)
    return _distinct(shares, "")


def read_mix(path: Path, difficulty: tuple[float, float] | None) -> list[Share]:
    """The shares of a mix file.

    ``[families]`` maps a name to its weight, or to a table of ``weight``, ``difficulty`` and the
    family's own settings. ``difficulty`` at the top is for families that name none.
    """
    try:
        text = path.read_text(encoding="utf-8")
        if text.startswith("\ufeff"):
            raise ValueError(BYTE_ORDER_MARK)
        data = tomllib.loads(text)
    except OSError as error:
        raise LimiteError(f"{path}: {error.strerror}") from error
    except ValueError as error:
        raise LimiteError(f"{path}: not TOML: {error}") from error
    wrong = []
    for key in data:
        if key not in ("difficulty", "families"):
            near = (
                did_you_mean(key, ("difficulty", "families")) or "; there are difficulty, families"
            )
            wrong.append(Mistake(f"unknown key{near}", key, str(path)))
    base = difficulty or _ends(data.get("difficulty", [0.0, 1.0]))
    if base is None:
        wrong.append(Mistake("expected [a, b] within 0 and 1", "difficulty", str(path)))
        base = (0.0, 1.0)
    families = data.get("families")
    if not isinstance(families, dict) or not families:
        wrong.append(Mistake("expected a table of families, name = weight", "families", str(path)))
        families = {}
    shares = []
    for name, given in families.items():
        try:
            shares.append(_share(name, given, base))
        except LimiteError as error:
            wrong.append(Mistake(str(error), f"families.{name}", str(path)))
    if wrong:
        raise SettingsError(wrong)
    return _distinct(shares, f"{path}: ")


def _share(name: str, given: Any, difficulty: tuple[float, float]) -> Share:
    settings = dict(given) if isinstance(given, dict) else {"weight": given}
    weight = settings.pop("weight", 1.0)
    if isinstance(weight, bool) or not isinstance(weight, (int, float)):
        raise LimiteError(f"expected a weight, got {weight!r}")
    ends = _ends(settings.pop("difficulty", list(difficulty)))
    if ends is None:
        raise LimiteError("difficulty: expected [a, b] within 0 and 1")
    share = Share(name=name, weight=float(weight), difficulty=ends, settings=settings)
    check_share(share)
    return share


def _ends(value: Any) -> tuple[float, float] | None:
    numbers = value if isinstance(value, list) else [value, value]
    if len(numbers) != 2 or not all(
        isinstance(number, (int, float)) and not isinstance(number, bool) for number in numbers
    ):
        return None
    low, high = map(float, numbers)
    return (low, high) if 0.0 <= low <= high <= 1.0 else None


def _distinct(shares: list[Share], place: str) -> list[Share]:
    names = [share.name for share in shares]
    for name in names:
        if names.count(name) > 1:
            raise LimiteError(f"{place}{name} is named {names.count(name)} times; add its weights")
    return shares
