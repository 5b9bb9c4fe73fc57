"""The components limite ships: kind, name, and the class as a string, imported when used."""

from __future__ import annotations

from limite.core.hookspecs import Registrar, hookimpl


@hookimpl
def limite_register(registry: Registrar) -> None:
    """Every built-in, by kind."""

    registry.verifier("exact", "limite.problems.verify.exact:Exact")
    procedural = "limite.problems.procedural"
    registry.generator("sum-chain", f"{procedural}.sum_chain:SumChain")
    registry.generator("linear-equation", f"{procedural}.linear_equation:LinearEquation")
    registry.generator("modular-expression", f"{procedural}.modular_expression:ModularExpression")
    registry.generator("gcd", f"{procedural}.gcd:Gcd")
    registry.generator("linear-system", f"{procedural}.linear_system:LinearSystem")
