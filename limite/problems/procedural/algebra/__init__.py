"""Algebra: equations, inequalities, polynomials, functions, matrices and word problems."""

FAMILIES: dict[str, str] = {
    "fraction-equation": "fraction_equation:FractionEquation",
    "quadratic-equation": "quadratic_equation:QuadraticEquation",
    "quadratic-inequality": "quadratic_inequality:QuadraticInequality",
    "rational-inequality": "rational_inequality:RationalInequality",
    "root-sums": "root_sums:RootSums",
    "system-of-equations": "system_of_equations:SystemOfEquations",
}
"""Name to ``module:Class`` in this package."""
