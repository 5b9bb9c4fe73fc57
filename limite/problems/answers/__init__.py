"""Answer types: what each accepts, its canonical form, and when two of its values are equal."""

from __future__ import annotations

# Modules here are named as the types are, ``set`` and ``tuple`` among them: code that needs the
# built-in ones cannot stand in this file.
from limite.problems.answers.known import CHECKED as CHECKED
from limite.problems.answers.known import TYPES as TYPES
from limite.problems.answers.known import answer_of as answer_of
from limite.problems.answers.known import canonical as canonical
from limite.problems.answers.known import type_of as type_of
