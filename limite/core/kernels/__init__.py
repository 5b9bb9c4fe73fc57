"""The kernel core: each operation has one definition and several ways to run it.

``limite.core.kernels.ops`` holds the operations, ``dispatch`` chooses how they run and says why.
"""
