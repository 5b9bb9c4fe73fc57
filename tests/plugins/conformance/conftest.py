"""What tests of the conformance kit share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import Phase, settings


@pytest.fixture
def no_shrinking() -> Iterator[None]:
    """Faults are planted here: that one is found matters, not its smallest form."""
    before = settings.get_current_profile_name()
    settings.register_profile("no-shrinking", settings(), phases=[Phase.generate])
    settings.load_profile("no-shrinking")
    yield
    settings.load_profile(before)
