"""Algebra: equations, inequalities, polynomials, functions, matrices and word problems."""

FAMILIES: dict[str, str] = {
    "binomial-term": "binomial_term:BinomialTerm",
    "fraction-equation": "fraction_equation:FractionEquation",
    "function-composition": "function_composition:FunctionComposition",
    "interpolation": "interpolation:Interpolation",
    "inverse-function": "inverse_function:InverseFunction",
    "partial-fractions": "partial_fractions:PartialFractions",
    "polynomial-division": "polynomial_division:PolynomialDivision",
    "polynomial-product": "polynomial_product:PolynomialProduct",
    "polynomial-remainder": "polynomial_remainder:PolynomialRemainder",
    "quadratic-equation": "quadratic_equation:QuadraticEquation",
    "quadratic-inequality": "quadratic_inequality:QuadraticInequality",
    "rational-function-sum": "rational_function_sum:RationalFunctionSum",
    "rational-inequality": "rational_inequality:RationalInequality",
    "root-sums": "root_sums:RootSums",
    "system-of-equations": "system_of_equations:SystemOfEquations",
    "vertex": "vertex:Vertex",
}
"""Name to ``module:Class`` in this package."""
