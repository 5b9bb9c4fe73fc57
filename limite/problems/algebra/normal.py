"""Normal forms: quotients of polynomials over the rationals in whatever else an expression holds.

Equal normal forms prove equality. Variables, pi, i and square roots of primes are told apart
completely, so that there unequal ones prove difference as well; of other kernels (sines,
exponentials, nested roots) only equality is proved.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from limite.problems.reading.faults import TooLarge, Unreadable
from limite.problems.reading.numbers import prime_powers
from limite.problems.reading.tree import Tree

Monomial = tuple[tuple[int, int], ...]
Polynomial = dict[Monomial, Fraction]
Quotient = tuple[Polynomial, Polynomial]

TERMS = 1_500
_TRIGONOMETRIC = frozenset(("sin", "cos", "tan", "cot", "sec", "csc"))
_PROVED_PRIME = 10_000**2  # what trial division up to 10,000 leaves below this is prime
_ZERO = Fraction(0)
_ONE: Polynomial = {(): Fraction(1)}


class Forms:
    """Turns trees into quotients that share their kernels."""

    def __init__(self) -> None:
        self.kernels: dict[Any, int] = {}
        self.relations: dict[int, tuple[int, Polynomial]] = {}
        self.complete = True
        self.names: set[int] = set()
        self.work = 0
        self.divided = False

    def equal(self, left: Tree, right: Tree) -> bool:
        above, below = self.form(left)
        other_above, other_below = self.form(right)
        self.divided = list(below) != [()] or list(other_below) != [()]
        return self.times(above, other_below) == self.times(other_above, below)

    def kernel(self, key: Any, *, complete: bool = False) -> int:
        index = self.kernels.setdefault(key, len(self.kernels))
        self.complete = self.complete and complete
        return index

    def form(self, tree: Tree) -> Quotient:
        kind = tree[0]
        if kind == "num":
            return ({(): tree[1]} if tree[1] else {}), _ONE
        if kind == "sym":
            index = self.kernel(tree, complete=True)
            self.names.add(index)
            return {((index, 1),): Fraction(1)}, _ONE
        if kind == "const":
            return self.constant(tree[1])
        if kind == "add":
            return self.total(tree[1])
        if kind == "mul":
            above, below = _ONE, _ONE
            for part in tree[1]:
                top, bottom = self.form(part)
                above, below = self.times(above, top), self.times(below, bottom)
            return above, below
        if kind == "pow":
            return self.power(tree[1], tree[2])
        if kind == "call":
            return self.call(tree[1], tree[2])
        raise Unreadable("no expression")

    def constant(self, name: str) -> Quotient:
        if name == "pi":
            return {((self.kernel("pi", complete=True), 1),): Fraction(1)}, _ONE
        if name == "i":
            index = self.kernel("i", complete=True)
            self.relations[index] = (2, {(): Fraction(-1)})
            return {((index, 1),): Fraction(1)}, _ONE
        if name == "e":
            return self.exponential("e", {(): Fraction(1)})
        raise Unreadable("infinity in an expression")

    def total(self, parts: tuple[Tree, ...]) -> Quotient:
        above: Polynomial = {}
        below = _ONE
        for part in parts:
            top, bottom = self.form(part)
            if bottom == below:
                above = self.plus(above, top)
            else:
                above = self.plus(self.times(above, bottom), self.times(top, below))
                below = self.times(below, bottom)
        return above, below

    def plus(self, left: Polynomial, right: Polynomial) -> Polynomial:
        total = dict(left)
        for monomial, value in right.items():
            before = total.get(monomial)
            if before is None:
                total[monomial] = value
            elif summed := before + value:
                total[monomial] = summed
            else:
                del total[monomial]
        return total

    def times(self, left: Polynomial, right: Polynomial) -> Polynomial:
        if left is _ONE:
            return right
        if right is _ONE:
            return left
        self.work += len(left) * len(right)
        if len(left) * len(right) > TERMS * 20 or self.work > TERMS * 200:
            raise TooLarge("an expression with too many terms")
        found: Polynomial = {}
        for monomial, value in left.items():
            for other, factor in right.items():
                joined, size = _joined(monomial, other), value * factor
                if not self.relations:
                    before = found.get(joined)
                    found[joined] = size if before is None else before + size
                    continue
                for product, scale in self.reduced(joined).items():
                    found[product] = found.get(product, _ZERO) + size * scale
        found = {monomial: value for monomial, value in found.items() if value}
        if len(found) > TERMS:
            raise TooLarge("an expression with too many terms")
        return found

    def reduced(self, monomial: Monomial) -> Polynomial:
        """The monomial with powers of i and of roots written out."""
        if not self.relations:
            return {monomial: Fraction(1)}
        for place, (index, exponent) in enumerate(monomial):
            relation = self.relations.get(index)
            if relation is not None and exponent >= relation[0]:
                whole, rest = divmod(exponent, relation[0])
                kept = ((index, rest),) if rest else ()
                others: Polynomial = {monomial[:place] + kept + monomial[place + 1 :]: Fraction(1)}
                return self.times(others, self.raised(relation[1], whole))
        return {monomial: Fraction(1)}

    def raised(self, base: Polynomial, exponent: int) -> Polynomial:
        if exponent < 2:
            return base if exponent else _ONE
        if len(base) == 1:
            ((monomial, value),) = base.items()
            bits = max(value.numerator.bit_length(), value.denominator.bit_length())
            if exponent > 10**6 or (abs(value) != 1 and exponent * bits > 20_000):
                raise TooLarge("too large a power")
            scaled = tuple((index, power * exponent) for index, power in monomial)
            return self.times(self.reduced(scaled), {(): value**exponent})
        if exponent > 200:
            raise TooLarge("too large a power of a sum")
        found = _ONE
        for _ in range(exponent):
            found = self.times(found, base)
        return found

    def power(self, base: Tree, exponent: Tree) -> Quotient:
        if exponent[0] == "num":
            by = exponent[1]
            if by.denominator == 1 and base != ("const", "e"):
                above, below = self.form(base)
                if by < 0:
                    above, below, by = below, above, -by
                if not below:
                    raise Unreadable("a division by zero is no number")
                return self.raised(above, int(by)), self.raised(below, int(by))
            if base[0] == "num":
                return self.rational_power(base[1], by)
            if base != ("const", "e"):
                return self.rooted(base, by)
        above, below = self.form(exponent)
        if list(below) != [()]:
            return self.opaque(("pow", self.key(self.form(base)), self.key((above, below))))
        scaled = {monomial: value / below[()] for monomial, value in above.items()}
        if base == ("const", "e"):
            return self.exponential("e", scaled)
        if base[0] == "num" and base[1] > 0:
            found: Quotient = _ONE, _ONE
            for prime, count in _factored(base[1]):
                times = {monomial: value * count for monomial, value in scaled.items()}
                found = self.product(found, self.exponential(prime, times))
            return found
        return self.exponential(self.key(self.form(base)), scaled)

    def product(self, left: Quotient, right: Quotient) -> Quotient:
        return self.times(left[0], right[0]), self.times(left[1], right[1])

    def exponential(self, base: Any, exponent: Polynomial) -> Quotient:
        """``base`` to a sum is the product of its powers; rational powers of primes are numbers."""
        found: Quotient = _ONE, _ONE
        for monomial, value in exponent.items():
            if monomial == () and isinstance(base, int):
                part = self.rational_power(Fraction(base), value)
            else:
                index = self.kernel(("exp", base, monomial, value.denominator))
                kernel: Polynomial = {((index, abs(value.numerator)),): Fraction(1)}
                part = (kernel, _ONE) if value > 0 else (_ONE, kernel)
            found = self.product(found, part)
        return found

    def rational_power(self, base: Fraction, by: Fraction) -> Quotient:
        if base == 0:
            return {}, _ONE
        if base < 0 and by.denominator != 1:
            if by.denominator != 2:
                return self.opaque(("pow", base, by))
            turned = self.raised(self.constant("i")[0], by.numerator % 4)
            return self.product((turned, _ONE), self.rational_power(-base, by))
        found: Quotient = {(): Fraction(-1 if base < 0 and by.numerator % 2 else 1)}, _ONE
        for prime, count in _factored(abs(base)):
            exponent = by * count
            whole = exponent.numerator // exponent.denominator
            if abs(whole) * prime.bit_length() > 20_000:
                raise TooLarge("too large a power")
            part: Polynomial = {(): Fraction(prime) ** whole}
            rest = exponent - whole
            if rest:
                index = self.kernel(
                    ("root", prime, rest.denominator),
                    complete=rest.denominator == 2 and prime < _PROVED_PRIME,
                )
                self.relations[index] = (rest.denominator, {(): Fraction(prime)})
                part = self.times(part, {((index, rest.numerator),): Fraction(1)})
            found = self.times(found[0], part), found[1]
        return found

    def rooted(self, base: Tree, by: Fraction) -> Quotient:
        above, below = self.form(base)
        index = self.kernel(("root", self.key((above, below)), by.denominator))
        if list(below) == [()]:
            scaled = {monomial: value / below[()] for monomial, value in above.items()}
            self.relations[index] = (by.denominator, scaled)
        found = self.reduced(((index, abs(by.numerator)),))
        return (found, _ONE) if by > 0 else (_ONE, found)

    def call(self, name: str, arguments: tuple[Tree, ...]) -> Quotient:
        inside = arguments[0]
        if name == "ln" and inside[0] == "num" and inside[1] > 0:
            total: Polynomial = {}
            for prime, count in _factored(inside[1]):
                monomial = ((self.kernel(("ln", prime)), 1),)
                total = self.plus(total, {monomial: Fraction(count)})
            return total, _ONE
        if name == "abs" and inside[0] == "num":
            return ({(): abs(inside[1])} if inside[1] else {}), _ONE
        if name in _TRIGONOMETRIC:
            found = self.circular(name, inside)
            if found is not None:
                return found
        return self.opaque((name, *(self.key(self.form(each)) for each in arguments)))

    def circular(self, name: str, inside: Tree) -> Quotient | None:
        """Sines and their like as exponentials of i times the angle, where all identities show."""
        above, below = self.form(inside)
        if list(below) != [()]:
            return None
        turned = self.times(above, self.constant("i")[0])
        scaled = {monomial: value / below[()] for monomial, value in turned.items()}
        forth = self.exponential("e", scaled)
        back = forth[1], forth[0]
        half: Polynomial = {(): Fraction(1, 2)}
        # forth is first over the denominator, and back is second over it.
        denominator = self.times(forth[1], back[1])
        first, second = self.times(forth[0], back[1]), self.times(back[0], forth[1])
        negated = self.times(second, {(): Fraction(-1)})
        cosine = self.times(half, self.plus(first, second))
        turn = self.times(self.constant("i")[0], {(): Fraction(-1, 2)})
        sine = self.times(turn, self.plus(first, negated))
        if name in ("sin", "cos"):
            return (sine if name == "sin" else cosine), denominator
        top, bottom = {
            "tan": (sine, cosine),
            "cot": (cosine, sine),
            "sec": (denominator, cosine),
            "csc": (denominator, sine),
        }[name]
        if not bottom:
            raise Unreadable("a division by zero is no number")
        return top, bottom

    def opaque(self, key: Any) -> Quotient:
        return {((self.kernel(key), 1),): Fraction(1)}, _ONE

    def key(self, form: Quotient) -> Any:
        """The same for quotients that are a rational multiple of each other above and below."""
        above, below = form
        lead = below[min(below)]
        return (
            frozenset((monomial, value / lead) for monomial, value in above.items()),
            frozenset((monomial, value / lead) for monomial, value in below.items()),
        )


def _joined(left: Monomial, right: Monomial) -> Monomial:
    if not left or not right:
        return left or right
    powers = dict(left)
    for index, exponent in right:
        powers[index] = powers.get(index, 0) + exponent
    return tuple(sorted(powers.items()))


def _factored(value: Fraction) -> list[tuple[int, int]]:
    """Prime factors of a positive rational number, those of the denominator counted below zero."""
    if max(value.numerator.bit_length(), value.denominator.bit_length()) > 512:
        raise TooLarge("too long a number under a root or a logarithm")
    return prime_powers(value.numerator) + [
        (prime, -count) for prime, count in prime_powers(value.denominator)
    ]
