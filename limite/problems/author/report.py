"""What a run gave and took: counts that add up, by reason and by stage."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import attrs

from limite.problems.author.budget import Budget

Settled = Mapping[str, Any]
"""What became of a problem asked for, as the journal holds it."""

STAGES = ("reply", "text", "new", "program", "steps", "solvers", "reading", "aim")
"""What a problem goes through, in order."""

_REPLY = ("unreadable-reply", "reply-cut", "answer-type", "answer-unreadable")
_NEW = ("duplicate", "near-duplicate", "template", "benchmark")
_AIM = ("too-easy", "too-hard")
_READING = ("reading-unreadable", "several-answers", "none-answers", "unstated-assumptions")


def stage_of(reason: str) -> str:
    """The stage that refuses for a reason."""
    if reason in _REPLY:
        return "reply"
    if reason in _NEW:
        return "new"
    if reason.startswith("program-"):
        return "program"
    if reason.startswith("step-"):
        return "steps"
    if reason == "solvers-disagree":
        return "solvers"
    if reason in _AIM:
        return "aim"
    return "reading" if reason in _READING else "text"


@attrs.frozen(kw_only=True)
class Counts:
    """asked = accepted + rejected, by reason, + failed."""

    asked: int
    accepted: int
    failed: int
    rejected: Counter[str]
    topics: Counter[str]
    failures: Counter[str] = attrs.field(factory=Counter)
    """Why no reply came."""
    rates: Sequence[float] = ()
    """The pass rates that were measured, of problems that are kept."""
    variants: int = 0
    families: int = 0
    unvaried: Counter[str] = attrs.field(factory=Counter)

    @classmethod
    def of(cls, accepted: Sequence[Settled], others: Sequence[Settled]) -> Counts:
        """Of what was settled, in any state of it."""
        outcomes = Counter(each["outcome"] for each in others)
        rejected = [each["reason"] for each in others if each["outcome"] == "rejected"]
        return cls(
            asked=len(accepted) + len(others),
            accepted=len(accepted),
            failed=outcomes["failed"],
            rejected=Counter(rejected),
            failures=Counter(each["reason"] for each in others if each["outcome"] == "failed"),
            topics=Counter(each["topic"] for each in accepted),
            rates=[each["pass_rate"] for each in accepted if "pass_rate" in each],
            variants=sum(len(each.get("variants", ())) for each in accepted),
            families=sum("variants" in each for each in accepted),
            unvaried=Counter(each["unvaried"]["reason"] for each in accepted if "unvaried" in each),
        )

    def plain(self) -> dict[str, Any]:
        """Everything, as a manifest holds it."""
        assert self.asked == self.accepted + self.rejected.total() + self.failed, self
        varied = {
            "variants": self.variants,
            "families": self.families,
            "unvaried": dict(sorted(self.unvaried.items())),
        }
        rate = {"pass_rate": sum(self.rates) / len(self.rates)} if self.rates else {}
        return {
            "asked": self.asked,
            "accepted": self.accepted,
            "rejected": dict(sorted(self.rejected.items())),
            "failed": self.failed,
            "accepted_by_topic": dict(sorted(self.topics.items())),
            "stages": [
                {"stage": stage, "reached": reached, "passed": passed}
                for stage, reached, passed in self.stages()
            ],
            **rate,
            **(varied if self.families or self.unvaried else {}),
        }

    def stages(self) -> list[tuple[str, int, int]]:
        """Each stage with how many problems came to it and how many went on."""
        left, found = self.asked - self.failed, []
        for stage in STAGES:
            gone = sum(
                count for reason, count in self.rejected.items() if stage_of(reason) == stage
            )
            if stage != "aim" or gone or self.rates:
                found.append((stage, left, left - gone))
            left -= gone
        return found

    @property
    def aimed(self) -> str:
        """How often the problems that are kept were solved, nothing where that is not measured."""
        if not self.rates:
            return ""
        mean = sum(self.rates) / len(self.rates)
        return f"pass rate {mean:.0%}, measured of {len(self.rates):,} problems"

    @property
    def varied(self) -> str:
        """What came of other numbers, nothing where none were asked for."""
        if not self.families and not self.unvaried:
            return ""
        told = ", ".join(f"{count:,} {reason}" for reason, count in self.unvaried.most_common())
        none = f", none of {self.unvaried.total():,} ({told})" if told else ""
        return f"{self.variants:,} variants of {self.families:,} problems{none}"

    @property
    def text(self) -> str:
        """One line that adds up."""
        return (
            f"{self.asked:,} asked = {self.accepted:,} accepted + "
            f"{self.rejected.total():,} rejected{_listed(self.rejected)} + "
            f"{self.failed:,} failed{_listed(self.failures)}"
        )


def _listed(reasons: Counter[str]) -> str:
    most = ", ".join(f"{count:,} {reason}" for reason, count in reasons.most_common())
    return f" ({most})" if most else ""


def money(value: float | None) -> str:
    """An amount, or that nobody knows it."""
    return "n/a" if value is None else f"{value:.4f}"


def spent(budget: Budget, counts: Counts, wanted: int) -> dict[str, Any]:
    """What this call has taken so far, and what all of it would at this rate."""
    cost, share = budget.cost, counts.accepted / wanted
    seconds = budget.spent_s
    return {
        "requests": budget.requests,
        "in_flight": budget.in_flight,
        "tokens_in": budget.tokens_in,
        "tokens_out": budget.tokens_out,
        "untold_replies": budget.untold,
        "cost": cost,
        "projected_cost": None if cost is None or not share else cost / share,
        "seconds": round(seconds, 1),
        "left_s": None if not share else round(seconds / share - seconds, 1),
    }


def spent_text(told: dict[str, Any]) -> str:
    """``spent`` as words."""
    left = "" if told["left_s"] is None else f", about {told['left_s']:,.0f} s left"
    untold = told["untold_replies"]
    note = f" ({untold:,} replies did not tell, and are counted at their most)" if untold else ""
    return (
        f"{told['requests']:,} requests, {told['tokens_in']:,} tokens in, "
        f"{told['tokens_out']:,} out{note}, cost {money(told['cost'])} "
        f"(all: {money(told['projected_cost'])}), {told['seconds']:,.0f} s{left}"
    )
