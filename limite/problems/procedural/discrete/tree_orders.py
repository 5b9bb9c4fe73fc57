"""Binary trees and the orders in which their vertices are read."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any

import attrs

from limite.problems.procedural import base, gold
from limite.problems.procedural.family import Drawn, Ends, Family, dial
from limite.problems.procedural.gold import Gold
from limite.problems.procedural.wording import Wordings

_NAMES = "ABCDEFGHJKLMNP"
Tree = tuple[Any, Any, Any] | None
"""A left tree, what stands at the root, and a right tree."""


@attrs.frozen(kw_only=True)
class TreeOrders(Family):
    """Reading orders and heights of binary trees, from other orders or from insertions."""

    name = "tree-orders"
    tag = "discrete/trees"
    wordings = Wordings(
        postorder=(
            "A binary tree has the preorder <preorder:word> (root, left, right) and the inorder "
            "<inorder:word> (left, root, right). What is its postorder (left, right, root)? Write "
            "the letters without gaps.",
            "Reading a binary tree root first, then its left and its right part, gives "
            "<preorder:word>; reading the left part first, then the root and the right part, gives "
            "<inorder:word>. What does reading both parts first and then the root give? Write the "
            "letters without gaps.",
        ),
        preorder=(
            "A binary tree has the postorder <postorder:word> (left, right, root) and the inorder "
            "<inorder:word> (left, root, right). What is its preorder (root, left, right)? Write "
            "the letters without gaps.",
        ),
        height=(
            "A binary tree has the preorder <preorder:word> (root, left, right) and the inorder "
            "<inorder:word> (left, root, right). How many edges does the longest way from "
            "its root down to a leaf have?",
        ),
        search=(
            "The numbers $<numbers:integers>$ are put one after the other into an empty binary "
            "search tree, smaller ones to the left and larger ones to the right, without any "
            "rebalancing. List them in preorder (root, left, right), as a tuple.",
            "A binary search tree is built without rebalancing from the numbers "
            "$<numbers:integers>$, in this order. In which order does a preorder walk (root, left, "
            "right) visit them? Give a tuple.",
        ),
        depth=(
            "The numbers $<numbers:integers>$ are put one after the other into an empty binary "
            "search tree, smaller ones to the left and larger ones to the right, without any "
            "rebalancing. How many edges does the longest way from the root down to a leaf have?",
        ),
    )

    vertices: Ends = dial(4, 11, "how many vertices", least=3, most=14)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        count = base.whole_near(rng, base.steady(self.vertices, difficulty))
        if rng.random() < 0.4:
            numbers = base.distinct(rng, count, 1, 40 + 50 * int(2 * difficulty))
            tree: Tree = None
            for number in numbers:
                tree = _inserted(tree, number)
            rows = ", ".join(
                f"${number}$ under ${_above(numbers[:place], number)}$"
                for place, number in enumerate(numbers)
                if place
            )
            steps = f"${numbers[0]}$ is the root, and the others come to stand: {rows}."
            if rng.random() < 0.7:
                found = gold.ordered(_read(tree, 0))
                return Drawn(ask="search", values={"numbers": numbers}, gold=found, steps=steps)
            deep = _height(tree)
            return Drawn(
                ask="depth",
                values={"numbers": numbers},
                gold=gold.integer(deep),
                steps=f"{steps} The longest way down has ${deep}$ of these steps.",
            )
        tree = _grown(rng, base.shuffled(rng, _NAMES[:count]))
        pre, middle, post = ("".join(_read(tree, order)) for order in range(3))
        values = {"preorder": pre, "inorder": middle, "postorder": post}
        ask = base.chosen(rng, ("postorder", "postorder", "preorder", "height"))
        parts = "; ".join(_split(tree))
        steps = f"The root parts the inorder into what is left and what is right of it: {parts}."
        if ask == "height":
            return Drawn(ask=ask, values=values, gold=gold.integer(_height(tree)), steps=steps)
        found = gold.string(post if ask == "postorder" else pre)
        return Drawn(ask=ask, values=values, gold=found, steps=steps)

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        if ask in ("search", "depth"):
            # The first number is the root; the smaller and the larger ones keep their order.
            numbers = values["numbers"]
            if ask == "search":
                return gold.ordered(_sorted_out(numbers))
            return gold.integer(_levels(numbers) - 1)
        middle = values["inorder"]
        if ask == "preorder":
            # Backwards, postorder is a preorder with right and left exchanged.
            mirrored = _rebuilt(values["postorder"][::-1], middle[::-1])
            return None if mirrored is None else gold.string(mirrored[0][::-1])
        found = _rebuilt(values["preorder"], middle)
        if found is None:
            return None
        return gold.string(found[0]) if ask == "postorder" else gold.integer(found[1] - 1)


def _grown(rng: random.Random, names: Sequence[str]) -> Tree:
    """A tree with these vertices, the first of them at the root."""
    if not names:
        return None
    left = base.whole(rng, 0, len(names) - 1)
    return _grown(rng, names[1 : left + 1]), names[0], _grown(rng, names[left + 1 :])


def _read(tree: Tree, order: int) -> list[Any]:
    """Preorder, inorder or postorder, by when the root is read."""
    if tree is None:
        return []
    parts = [_read(tree[0], order), _read(tree[2], order)]
    parts.insert(order, [tree[1]])
    return [*parts[0], *parts[1], *parts[2]]


def _height(tree: Tree) -> int:
    return -1 if tree is None else 1 + max(_height(tree[0]), _height(tree[2]))


def _inserted(tree: Tree, number: int) -> Tree:
    if tree is None:
        return None, number, None
    left, root, right = tree
    if number < root:
        return _inserted(left, number), root, right
    return left, root, _inserted(right, number)


def _above(earlier: Sequence[int], number: int) -> int:
    """Under what a number comes to stand: the later of its neighbours in size."""
    below = max((each for each in earlier if each < number), default=0)
    over = min((each for each in earlier if each > number), default=0)
    return max((each for each in (below, over) if each), key=earlier.index)


def _split(tree: Tree) -> list[str]:
    if tree is None or (tree[0] is None and tree[2] is None):
        return []
    left, right = ("".join(_read(part, 1)) or "nothing" for part in (tree[0], tree[2]))
    here = f"{tree[1]} has {left} on its left and {right} on its right"
    return [here, *_split(tree[0]), *_split(tree[2])]


def _rebuilt(pre: str, middle: str) -> tuple[str, int] | None:
    """The postorder of the tree and its number of levels."""
    if not pre:
        return "", 0
    if sorted(pre) != sorted(middle):
        return None
    place = middle.index(pre[0])
    left = _rebuilt(pre[1 : place + 1], middle[:place])
    right = _rebuilt(pre[place + 1 :], middle[place + 1 :])
    if left is None or right is None:
        return None
    return left[0] + right[0] + pre[0], 1 + max(left[1], right[1])


def _sorted_out(numbers: Sequence[int]) -> list[int]:
    if not numbers:
        return []
    smaller = [each for each in numbers if each < numbers[0]]
    larger = [each for each in numbers if each > numbers[0]]
    return [numbers[0], *_sorted_out(smaller), *_sorted_out(larger)]


def _levels(numbers: Sequence[int]) -> int:
    if not numbers:
        return 0
    smaller = [each for each in numbers if each < numbers[0]]
    return 1 + max(_levels(smaller), _levels([each for each in numbers if each > numbers[0]]))
