"""Calculus: limits, derivatives, integrals, series and differential equations."""

FAMILIES: dict[str, str] = {
    "antiderivative": "antiderivative:Antiderivative",
    "area-between-curves": "area_between_curves:AreaBetweenCurves",
    "convergence-radius": "convergence_radius:ConvergenceRadius",
    "definite-integral": "definite_integral:DefiniteIntegral",
    "derivative-at-point": "derivative_at_point:DerivativeAtPoint",
    "derivative-rules": "derivative_rules:DerivativeRules",
    "function-parameters": "function_parameters:FunctionParameters",
    "gradient": "gradient:Gradient",
    "improper-integral": "improper_integral:ImproperIntegral",
    "initial-value": "initial_value:InitialValue",
    "limits": "limits:Limits",
    "numerical-steps": "numerical_steps:NumericalSteps",
    "optimisation": "optimisation:Optimisation",
    "polynomial-derivative": "polynomial_derivative:PolynomialDerivative",
    "related-rates": "related_rates:RelatedRates",
    "series-coefficient": "series_coefficient:SeriesCoefficient",
    "stationary-points": "stationary_points:StationaryPoints",
    "tangent-line": "tangent_line:TangentLine",
    "volume-of-revolution": "volume_of_revolution:VolumeOfRevolution",
}
"""Name to ``module:Class`` in this package."""
