"""Whether the files of a run are what they say: every hash and every promise, from them alone."""

from limite.core.recipe.verify.run import Verified, verify_run

__all__ = ["Verified", "verify_run"]
