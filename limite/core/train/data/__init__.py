"""Texts that people bring to train on: how files are read, tokenised once, and kept."""
