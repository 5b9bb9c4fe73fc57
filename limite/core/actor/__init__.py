"""Sampling and learning in turns: who samples with which weights, and when the learner gets it."""
