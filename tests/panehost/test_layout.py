"""Where panes stand: ids, focus, what closes with what, moves."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from coordinatord.panehost import tree
from coordinatord.panehost.layout import Layout, write_number
from coordinatord.panehost.tree import Leaf, Rect


def opened() -> Layout:
    layout = Layout()
    layout.open_workspace("api", focus=False)
    return layout


def test_numbers_are_written_as_herdr_writes_them() -> None:
    assert [write_number(n) for n in (1, 9, 10, 17, 18, 31, 32, 33)] == [
        "1", "9", "A", "H", "J", "Z", "0", "11",
    ]  # fmt: skip


@given(st.sets(st.integers(1, 10**6), max_size=200))
def test_no_two_numbers_are_written_alike(numbers: set[int]) -> None:
    assert len({write_number(n) for n in numbers}) == len(numbers)


def test_the_first_workspace_is_focused_unasked_and_the_second_is_not() -> None:
    layout = opened()
    layout.open_workspace("web", focus=False)
    focused = layout.focused()
    assert focused is not None
    assert focused[2] == "w1:p1"


def test_the_number_of_a_closed_pane_is_not_used_again() -> None:
    layout = opened()
    layout.split("w1:p1", "right", None, focus=False)
    layout.drop("w1:p2")
    assert layout.split("w1:p1", "right", None, focus=False) == "w1:p3"


def test_a_pane_takes_its_tab_and_its_workspace_with_it() -> None:
    layout = opened()
    workspace = layout.workspaces[0]
    layout.open_tab(workspace, "two", focus=False)
    left = layout.drop("w1:p2")
    assert left.tab is not None
    assert left.workspace is None
    left = layout.drop("w1:p1")
    assert left.workspace is workspace
    assert layout.focused() is None


def test_a_move_across_workspaces_gives_a_new_id_and_keeps_the_old_as_alias() -> None:
    layout = opened()
    layout.split("w1:p1", "right", None, focus=False)
    web, _, _ = layout.open_workspace("web", focus=False)
    moved = layout.move_to_new_tab("w1:p2", web, "guest")
    assert moved.pane_id == "w2:p2"
    assert layout.resolve("w1:p2") == "w2:p2"
    assert layout.where("w2:p2")[0] is web


def test_the_only_pane_of_a_tab_moves_and_its_tab_closes() -> None:
    layout = opened()
    moved = layout.move_to_new_tab("w1:p1", layout.workspaces[0], None)
    assert moved.pane_id == "w1:p1"
    assert moved.left.tab is not None
    assert moved.left.workspace is None
    assert [tab.tab_id for tab in layout.workspaces[0].tabs] == ["w1:t2"]
    assert layout.workspaces[0].active == "w1:t2"


def test_the_last_pane_of_a_workspace_moves_to_another_and_the_workspace_closes() -> None:
    layout = opened()
    web, _, _ = layout.open_workspace("web", focus=False)
    moved = layout.move_beside("w1:p1", "w2:p1", "down", 0.3)
    assert moved.left.workspace is not None
    assert list(web.panes()) == ["w2:p1", "w2:p2"]
    assert layout.active == "w2"


def test_positions_and_legacy_ids_resolve_too() -> None:
    """T-21: a bare number is a position."""
    layout = opened()
    assert layout.workspace("1") is layout.workspaces[0]
    assert layout.workspace("w_1") is layout.workspaces[0]
    assert layout.workspace("2") is None
    assert layout.resolve("p_1") == layout.resolve("w1-1") == "w1:p1"
    assert layout.resolve("nonsense") is None


def test_rectangles_are_those_of_the_recording() -> None:
    root = tree.beside(Leaf("a"), "a", "b", "right", None)
    root = tree.beside(root, "b", "c", "down", 0.3)
    placed = dict(tree.place(root, Rect(26, 1, 94, 39)))
    assert placed == {
        "a": Rect(26, 1, 47, 39),
        "b": Rect(73, 1, 47, 12),
        "c": Rect(73, 13, 47, 27),
    }


@given(st.lists(st.tuples(st.integers(0, 9), st.sampled_from(["right", "down"])), max_size=12))
def test_a_tree_covers_its_area_exactly(cuts: list[tuple[int, tree.Direction]]) -> None:
    root: tree.Node = Leaf("0")
    for number, (where, direction) in enumerate(cuts, 1):
        names = list(tree.leaves(root))
        root = tree.beside(root, names[where % len(names)], str(number), direction, None)
    area = Rect(0, 0, 120, 40)
    placed = dict(tree.place(root, area))
    assert sum(rect.width * rect.height for rect in placed.values()) == 120 * 40
    for name in list(placed)[1:]:
        root = tree.without(root, name) or Leaf("none")
    assert root == Leaf("0")
