"""All the tests an objective needs to begin with: the laws of its kind."""

import pytest
from limite_softclip import SoftClip

from limite.plugins.conformance import objective_laws

LAWS = objective_laws(SoftClip())


@pytest.mark.parametrize("law", LAWS.values(), ids=list(LAWS))
def test_softclip(law):
    law()
