"""Attempts to get out of the sandbox, each a program that says what it reached."""
