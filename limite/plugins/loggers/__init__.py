"""Where the numbers of a run go: one logger per file."""
