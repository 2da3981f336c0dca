"""The split tree of one tab: pure, immutable, pane ids at the leaves.

Rectangles follow Herdr: the first part gets ``size * ratio`` rounded half up, the second the rest
(recordings 01 and 11). The terminals themselves are not cut to these rectangles, see
`docs/decisions/0001-embedded-host-differences.md`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, TypeAlias

import msgspec

Direction = Literal["right", "down"]
LEAST_RATIO = 0.1
MOST_RATIO = 0.9


class Leaf(msgspec.Struct, frozen=True, tag="pane"):
    """One pane."""

    pane: str


class Split(msgspec.Struct, frozen=True, tag="split"):
    """Two parts side by side (``right``) or one above the other (``down``)."""

    direction: Direction
    ratio: float
    first: Leaf | Split
    second: Leaf | Split


Node: TypeAlias = Leaf | Split


class Rect(msgspec.Struct, frozen=True):
    """A rectangle in character cells."""

    x: int
    y: int
    width: int
    height: int


def leaves(node: Node) -> Iterator[str]:
    """The pane ids, first parts first."""
    match node:
        case Leaf():
            yield node.pane
        case Split():
            yield from leaves(node.first)
            yield from leaves(node.second)


def beside(node: Node, target: str, new: str, direction: Direction, ratio: float | None) -> Node:
    """The tree with ``new`` as second part beside ``target``; the ratio is clamped to 0.1–0.9."""
    share = min(max(0.5 if ratio is None else ratio, LEAST_RATIO), MOST_RATIO)
    return _replace(node, target, Split(direction, share, Leaf(target), Leaf(new)))


def renamed(node: Node, old: str, new: str) -> Node:
    """The tree with one pane's id changed."""
    return _replace(node, old, Leaf(new))


def without(node: Node, pane: str) -> Node | None:
    """The tree after a pane left it: its sibling takes the whole place. None if nothing is left."""
    match node:
        case Leaf():
            return None if node.pane == pane else node
        case Split():
            first, second = without(node.first, pane), without(node.second, pane)
            if first is None or second is None:
                return first or second
            return Split(node.direction, node.ratio, first, second)


def heir(node: Node, pane: str) -> str | None:
    """Who gets the focus when ``pane`` leaves: the pane before it, else the one after it."""
    rest = without(node, pane)
    if rest is None:
        return None
    order = list(leaves(node))
    position = order.index(pane) if pane in order else 0
    remaining = list(leaves(rest))
    return remaining[max(0, min(position - 1, len(remaining) - 1))]


def place(node: Node, area: Rect) -> Iterator[tuple[str, Rect]]:
    """Each pane with its rectangle."""
    match node:
        case Leaf():
            yield node.pane, area
        case Split():
            first, second = _cut(node, area)
            yield from place(node.first, first)
            yield from place(node.second, second)


def splits(node: Node, area: Rect, path: str = "") -> Iterator[tuple[str, Split, Rect]]:
    """Each split with its path of 0 (first) and 1 (second), outermost first."""
    if isinstance(node, Split):
        yield path, node, area
        first, second = _cut(node, area)
        yield from splits(node.first, first, path + "0")
        yield from splits(node.second, second, path + "1")


def _cut(split: Split, area: Rect) -> tuple[Rect, Rect]:
    if split.direction == "right":
        width = int(area.width * split.ratio + 0.5)
        return (
            Rect(area.x, area.y, width, area.height),
            Rect(area.x + width, area.y, area.width - width, area.height),
        )
    height = int(area.height * split.ratio + 0.5)
    return (
        Rect(area.x, area.y, area.width, height),
        Rect(area.x, area.y + height, area.width, area.height - height),
    )


def _replace(node: Node, pane: str, new: Node) -> Node:
    match node:
        case Leaf():
            return new if node.pane == pane else node
        case Split():
            first = _replace(node.first, pane, new)
            second = _replace(node.second, pane, new)
            return Split(node.direction, node.ratio, first, second)
