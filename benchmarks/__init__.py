"""What limite's kernels cost, measured beside what else could do the same work."""
