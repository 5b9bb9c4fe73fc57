"""Objectives, and what belongs to them, held to numbers of other implementations."""

from limite.plugins.golden.case import Case, Outcome
from limite.plugins.golden.run import KINDS, Report, is_vectors, read_vectors, run_vectors

__all__ = ["KINDS", "Case", "Outcome", "Report", "is_vectors", "read_vectors", "run_vectors"]
