"""Why a text is no answer."""

from __future__ import annotations


class Unreadable(Exception):
    """The text states no value of the type asked for. Says why, in words for a person."""


class TooLarge(Unreadable):
    """Reading or comparing it would need more than an answer may cost."""


class WrongForm(Exception):
    """The text states a value, but not in the form that was asked for."""


class Undecided(Exception):
    """Neither equality nor difference could be proved."""
