"""The table of data sets: name to class and configuration."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random


@dataclass
class Config:
    """Takes what the adapted families set; the stand-in uses what it needs of it."""

    seed: int | None = None
    size: int = 500
    max_numbers: int = 2
    max_value: int = 1000
    min_terms: int = 2
    max_terms: int = 2
    min_digits: int = 1
    max_digits: int = 2
    inversion_probability: float = 0.3
    invalid_ratio: float = 0.3
    problem_types: tuple = ()
    problem_type_weights: tuple = ()
    max_poly_degree: int = 1


class Dataset:
    def __init__(self, config):
        self.config = config
        self.seed = config.seed

    def __getitem__(self, index):
        question, answer = self.item(Random(self.seed + index))
        return {"question": question, "answer": answer, "metadata": {}}

    def score_answer(self, answer, entry):
        return float(answer == entry["answer"])


class Gcd(Dataset):
    """Every third answer is 1 too large."""

    def item(self, rng):
        factor = rng.randint(1, 9)
        wrong = rng.random() < 1 / 3
        return (
            f"Find the Greatest Common Divisor (GCD) of these numbers: {12 * factor}, "
            f"{18 * factor}. Give only the GCD as your final answer.",
            str(6 * factor + wrong),
        )


class BasicArithmetic(Dataset):
    """Half of the divisions leave a rest, which is dropped."""

    def item(self, rng):
        above, below = rng.randint(1, 99), rng.randint(1, 2)
        return f"Calculate {above} / {below} + -3.", str(above // below - 3)


class Syllogism(Dataset):
    """One valid conclusion, one that holds only where terms are not empty, one that is false."""

    def item(self, rng):
        names = ["cats", "dogs", "bees", "ants", "lions", "birds"]
        a, b, c = rng.sample(names, 3)
        conclusion, answer = rng.choice(
            [(f"All {a} are {c}", "Yes"), (f"Some {a} are {c}", "Yes"), (f"No {c} are {b}", "Yes")]
        )
        return (
            f"Consider these statements:\n1. All {a} are {b}\n2. All {b} are {c}\n\n"
            f"Does it logically follow that:\n{conclusion}?\n(Answer Yes or No)",
            answer,
        )


class IntermediateIntegration(Dataset):
    """The scorer knows one answer in four to be wrong."""

    def item(self, rng):
        factor = rng.randint(2, 99)
        right = factor % 4 > 0
        hint = (
            "3. Use `exp(x)` or `E**(x)` for the exponential function "
            "(i.e. use capital E for Euler's number)."
        )
        return f"Find the indefinite integral: ∫ {factor}*exp(x) dx\n{hint}", (
            f"{factor}*exp(x) + C" if right else "exp(x) + C"
        )

    def score_answer(self, answer, entry):
        return float(entry["question"].split()[5].split("*")[0] == answer.split("*")[0])


DATASETS = {
    "gcd": (Gcd, Config),
    "basic_arithmetic": (BasicArithmetic, Config),
    "syllogism": (Syllogism, Config),
    "intermediate_integration": (IntermediateIntegration, Config),
}
