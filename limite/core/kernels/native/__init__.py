"""Kernels in C for float32 on a processor, compiled on the machine that they run on."""
