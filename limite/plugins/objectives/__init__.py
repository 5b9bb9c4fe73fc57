"""What is minimised: one objective per file."""
