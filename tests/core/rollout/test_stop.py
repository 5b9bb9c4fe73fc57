from __future__ import annotations

import os
import signal
import threading

import pytest

from limite.core.rollout.stop import SIGNALS, StopRequest


@pytest.mark.parametrize("number", SIGNALS)
def test_a_first_signal_sets_the_flag_and_a_second_interrupts(
    number: signal.Signals, capfd: pytest.CaptureFixture[str]
) -> None:
    before = [signal.getsignal(each) for each in SIGNALS]
    with StopRequest("stopping after this update") as stop:
        assert not stop.requested
        os.kill(os.getpid(), number)
        assert stop.requested
        assert capfd.readouterr().err == "stopping after this update\n"
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), number)
    assert [signal.getsignal(each) for each in SIGNALS] == before


def test_who_did_not_press_a_key_is_not_told_of_one(capfd: pytest.CaptureFixture[str]) -> None:
    for number, said in ((signal.SIGINT, "again\n"), (signal.SIGTERM, "asked to end\n")):
        with StopRequest("again", "asked to end") as stop:
            os.kill(os.getpid(), number)
            assert stop.requested
        assert capfd.readouterr().err == said


def test_handlers_come_back_after_an_error() -> None:
    before = [signal.getsignal(each) for each in SIGNALS]
    with pytest.raises(RuntimeError), StopRequest():
        raise RuntimeError
    assert [signal.getsignal(each) for each in SIGNALS] == before


def test_without_a_message_nothing_is_printed(capfd: pytest.CaptureFixture[str]) -> None:
    with StopRequest() as stop:
        os.kill(os.getpid(), signal.SIGINT)
        assert stop.requested
    assert capfd.readouterr() == ("", "")


def test_another_thread_can_ask_but_takes_no_signals() -> None:
    before = [signal.getsignal(each) for each in SIGNALS]
    seen: list[bool] = []

    def work() -> None:
        with StopRequest() as stop:
            stop.request()
            seen.append(stop.requested)
            seen.append([signal.getsignal(each) for each in SIGNALS] == before)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [True, True]
