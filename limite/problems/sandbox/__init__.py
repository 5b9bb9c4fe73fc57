"""Runs programs of strangers: bounded in time and memory, without files, network or processes.

``limite.problems.sandbox.pool.run`` is the way in.
"""
