"""``limite-gen``, called in this process as a shell would call it."""

from __future__ import annotations

from tests.problems.gen.conftest import gen as gen
