"""Number theory: divisors, primes, residues and Diophantine equations."""

FAMILIES: dict[str, str] = {
    "chinese-remainder": "chinese_remainder:ChineseRemainder",
    "divisor-functions": "divisor_functions:DivisorFunctions",
    "euler-phi": "euler_phi:EulerPhi",
    "lcm-of-several": "lcm_of_several:LcmOfSeveral",
    "linear-congruence": "linear_congruence:LinearCongruence",
    "linear-diophantine": "linear_diophantine:LinearDiophantine",
    "modular-inverse": "modular_inverse:ModularInverse",
    "modular-power": "modular_power:ModularPower",
    "multiplicative-order": "multiplicative_order:MultiplicativeOrder",
    "power-tower": "power_tower:PowerTower",
    "prime-factors": "prime_factors:PrimeFactors",
}
"""Name to ``module:Class`` in this package."""
