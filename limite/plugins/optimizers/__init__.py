"""How weights move: one optimizer per file."""
