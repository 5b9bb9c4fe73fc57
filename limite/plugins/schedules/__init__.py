"""How the learning rate changes over a stage: one schedule per file."""
