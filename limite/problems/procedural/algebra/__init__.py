"""Algebra: equations, inequalities, polynomials, functions, matrices and word problems."""

FAMILIES: dict[str, str] = {
    "absolute-equation": "absolute_equation:AbsoluteEquation",
    "absolute-inequality": "absolute_inequality:AbsoluteInequality",
    "binomial-term": "binomial_term:BinomialTerm",
    "exponential-equation": "exponential_equation:ExponentialEquation",
    "fraction-equation": "fraction_equation:FractionEquation",
    "function-composition": "function_composition:FunctionComposition",
    "interpolation": "interpolation:Interpolation",
    "inverse-function": "inverse_function:InverseFunction",
    "logarithm-equation": "logarithm_equation:LogarithmEquation",
    "partial-fractions": "partial_fractions:PartialFractions",
    "polynomial-division": "polynomial_division:PolynomialDivision",
    "polynomial-product": "polynomial_product:PolynomialProduct",
    "polynomial-remainder": "polynomial_remainder:PolynomialRemainder",
    "quadratic-equation": "quadratic_equation:QuadraticEquation",
    "quadratic-inequality": "quadratic_inequality:QuadraticInequality",
    "radical-equation": "radical_equation:RadicalEquation",
    "rational-function-sum": "rational_function_sum:RationalFunctionSum",
    "rational-inequality": "rational_inequality:RationalInequality",
    "root-sums": "root_sums:RootSums",
    "surd-simplification": "surd_simplification:SurdSimplification",
    "system-of-equations": "system_of_equations:SystemOfEquations",
    "vertex": "vertex:Vertex",
}
"""Name to ``module:Class`` in this package."""
