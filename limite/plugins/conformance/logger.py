"""What every logger keeps to."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from limite.core.kinds import Logger, LoggerContext

Metrics = Mapping[str, float | int | str | None]

_numbers = st.one_of(
    st.sampled_from([0.0, -0.0, 1e-300, 5e-324, -1e-7, 0.5, 1.7976931348623157e308]),
    st.floats(allow_nan=False, allow_infinity=False),
    st.integers(min_value=-(2**63), max_value=2**63),
    st.booleans(),
    st.none(),
    st.text(max_size=20),
)
_words = st.text("abcdefghijklmnopqrstuvwxyz_0123456789", min_size=1, max_size=8)
_names = st.one_of(st.sampled_from(["time_s", "tokens"]), st.builds("{}/{}".format, _words, _words))
_metrics: st.SearchStrategy[Metrics] = st.dictionaries(_names, _numbers, max_size=8)


def logger_laws(component: Logger) -> dict[str, Callable[[], None]]:
    """The laws of a logger by name; each is called without arguments and raises when it fails.

    They run it in a temporary folder, as for a stage named ``law`` without a terminal.
    """

    def law(check: Callable[[Path], None]) -> None:
        with tempfile.TemporaryDirectory() as folder:
            stage = Path(folder) / "stage"
            stage.mkdir()
            check(stage)
            beside = [entry.name for entry in Path(folder).iterdir() if entry != stage]
            assert not beside, f"it wrote {beside} outside of its stage's folder"

    def context(stage: Path, total_steps: int = 10) -> LoggerContext:
        return LoggerContext(
            stage="law", directory=stage, total_steps=total_steps, echo=lambda line: None
        )

    def accepts_any_finite_metrics() -> None:
        @given(st.lists(_metrics, max_size=4), st.integers(min_value=1, max_value=10_000))
        def check(rows: list[Metrics], total_steps: int) -> None:
            def run(stage: Path) -> None:
                running = component.build(context(stage, total_steps))
                for step, metrics in enumerate(rows, start=1):
                    running.log(step, metrics)
                running.close()

            law(run)

        check()

    def leaves_metrics_alone() -> None:
        @given(_metrics)
        def check(metrics: Metrics) -> None:
            def run(stage: Path) -> None:
                given_metrics = dict(metrics)
                running = component.build(context(stage))
                running.log(1, given_metrics)
                running.close()
                assert list(given_metrics.items()) == list(metrics.items())

            law(run)

        check()

    def closes_twice() -> None:
        def run(stage: Path) -> None:
            running = component.build(context(stage))
            running.log(1, {"loss/mean": 0.5})
            running.close()
            running.close()

        law(run)

    def closes_unused() -> None:
        def run(stage: Path) -> None:
            component.build(context(stage)).close()

        law(run)

    def goes_on_after_a_resume() -> None:
        def run(stage: Path) -> None:
            for first in (1, 4):
                running = component.build(context(stage))
                for step in range(first, first + 3):
                    running.log(step, {"loss/mean": 1.0 / step, "tokens": step})
                running.close()

        law(run)

    def survives_an_unclosed_run() -> None:
        def run(stage: Path) -> None:
            component.build(context(stage)).log(1, {"loss/mean": 0.5})
            running = component.build(context(stage))
            running.log(2, {"loss/mean": 0.25})
            running.close()

        law(run)

    return {
        each.__name__: each
        for each in (
            accepts_any_finite_metrics,
            leaves_metrics_alone,
            closes_twice,
            closes_unused,
            goes_on_after_a_resume,
            survives_an_unclosed_run,
        )
    }
