"""Problems that a language model writes, and that programs must agree on.

A problem is kept only where programs, run in the sandbox, give its answer: the one that came with
it, and others that were written by somebody who saw nothing but its text.
"""
