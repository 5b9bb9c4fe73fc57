"""The operator's stop: Ctrl-C or SIGTERM ends a run after the update at hand, not in its middle."""

from __future__ import annotations

import os
import signal
import threading
from types import FrameType, TracebackType
from typing import Any

SIGNALS = (signal.SIGINT, signal.SIGTERM)


class StopRequest:
    """Within ``with StopRequest() as stop``, a first signal sets ``stop.requested``.

    Loops look at the flag between updates. A second signal raises KeyboardInterrupt at once. The
    handlers that were there before come back at the end. Outside the main thread, where Python
    takes no handlers, only ``request`` sets the flag.
    """

    def __init__(self, message: str = "", terminated: str = "") -> None:
        """``message`` is written to standard error when the first signal arrives; ``terminated``
        if that is SIGTERM, which nobody has pressed a key for."""
        self.requested = False
        self._messages = {signal.SIGINT: message, signal.SIGTERM: terminated or message}
        self._before: dict[signal.Signals, Any] = {}

    def request(self) -> None:
        """Asks for a stop from within the program."""
        self.requested = True

    def __enter__(self) -> StopRequest:
        if threading.current_thread() is threading.main_thread():
            for number in SIGNALS:
                self._before[number] = signal.signal(number, self._handle)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for number, handler in self._before.items():
            # None stands for a handler that was not installed from Python and cannot be put back.
            signal.signal(number, signal.SIG_DFL if handler is None else handler)
        self._before.clear()

    def _handle(self, number: int, _frame: FrameType | None) -> None:
        if self.requested:
            raise KeyboardInterrupt
        self.requested = True
        message = self._messages[signal.Signals(number)]
        if message:
            # A handler runs between any two steps of the program, perhaps inside a print: a
            # buffered stream would refuse to be entered again, a plain write never does.
            os.write(2, (message + "\n").encode())
