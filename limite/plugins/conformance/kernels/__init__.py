"""Laws of the kernel core: one file per operation, each law a function that takes a backend.

They tie every implementation to the float64 reference, and to what is true of any right one.
"""
