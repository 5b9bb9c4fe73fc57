"""A setting that a command line gives two values is refused, whichever command it is."""

from __future__ import annotations

from pathlib import Path

import pytest

from limite.core.cli.main import main


@pytest.mark.parametrize("command", ["run", "check", "plan", "resume"])
def test_no_setting_has_two_values(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    sets = ["seed=3", "stages.rl.steps = 4", 'stages."rl".steps=5', "seed=9"]
    with pytest.raises(SystemExit) as ended:
        main([command, "nowhere.toml", *(f"--set={each}" for each in sets)])
    assert ended.value.code == 2
    assert capsys.readouterr().err == (
        'error: --set stages."rl".steps=5: stages.rl.steps: is set to 4 as well\n'
        "--set seed=9: seed: is set to 3 as well\n"
    )


def test_the_same_value_again_and_what_is_below_a_setting_are_fine(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sets = ["seed=3", "seed=3", "stages.rl={ steps = 4 }", "stages.rl.steps=5", "no path"]
    with pytest.raises(SystemExit):
        main(["check", str(tmp_path / "nowhere.toml"), *(f"--set={each}" for each in sets)])
    assert "as well" not in capsys.readouterr().err
