"""``python -m limite``: the same as the command ``limite``."""

from __future__ import annotations

from limite.core.cli.main import main

if __name__ == "__main__":
    main()
