"""Number theory: divisors, primes, residues and Diophantine equations."""

FAMILIES: dict[str, str] = {
    "chinese-remainder": "chinese_remainder:ChineseRemainder",
    "count-in-range": "count_in_range:CountInRange",
    "divisor-functions": "divisor_functions:DivisorFunctions",
    "euler-phi": "euler_phi:EulerPhi",
    "factorial-valuation": "factorial_valuation:FactorialValuation",
    "find-the-base": "find_the_base:FindTheBase",
    "frobenius-coin": "frobenius_coin:FrobeniusCoin",
    "lcm-of-several": "lcm_of_several:LcmOfSeveral",
    "legendre-symbol": "legendre_symbol:LegendreSymbol",
    "linear-congruence": "linear_congruence:LinearCongruence",
    "linear-diophantine": "linear_diophantine:LinearDiophantine",
    "missing-digits": "missing_digits:MissingDigits",
    "modular-inverse": "modular_inverse:ModularInverse",
    "modular-power": "modular_power:ModularPower",
    "multiplicative-order": "multiplicative_order:MultiplicativeOrder",
    "pell-equation": "pell_equation:PellEquation",
    "power-tower": "power_tower:PowerTower",
    "prime-factors": "prime_factors:PrimeFactors",
    "primitive-roots": "primitive_roots:PrimitiveRoots",
    "quadratic-congruence": "quadratic_congruence:QuadraticCongruence",
    "right-triangles": "right_triangles:RightTriangles",
    "square-multiplier": "square_multiplier:SquareMultiplier",
    "two-squares": "two_squares:TwoSquares",
}
"""Name to ``module:Class`` in this package."""
