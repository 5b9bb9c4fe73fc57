"""Number theory: divisors, primes, residues and Diophantine equations."""

FAMILIES: dict[str, str] = {
    "modular-inverse": "modular_inverse:ModularInverse",
}
"""Name to ``module:Class`` in this package."""
