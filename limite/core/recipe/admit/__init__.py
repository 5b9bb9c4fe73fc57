"""Admission: whether kernels, decode path, schedules and checkpoints may be used for a run.

``limite admit`` holds a stage's own code, on the device at hand, to tolerances that stand in
``tolerances`` and nowhere else. Every gate is a file; ``run`` goes through them.
"""
