"""Calculus: limits, derivatives, integrals, series and differential equations."""

FAMILIES: dict[str, str] = {
    "antiderivative": "antiderivative:Antiderivative",
    "area-between-curves": "area_between_curves:AreaBetweenCurves",
    "definite-integral": "definite_integral:DefiniteIntegral",
    "derivative-at-point": "derivative_at_point:DerivativeAtPoint",
    "derivative-rules": "derivative_rules:DerivativeRules",
    "limits": "limits:Limits",
    "polynomial-derivative": "polynomial_derivative:PolynomialDerivative",
    "stationary-points": "stationary_points:StationaryPoints",
    "tangent-line": "tangent_line:TangentLine",
    "volume-of-revolution": "volume_of_revolution:VolumeOfRevolution",
}
"""Name to ``module:Class`` in this package."""
