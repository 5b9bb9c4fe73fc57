"""Credit for the responses of a group: one way per file."""
