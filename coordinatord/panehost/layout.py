"""Workspaces, tabs and where panes stand in them: ids, focus, what closes with what. No I/O, no
processes.

Numbers of panes and tabs are never given twice inside a workspace, also across restarts (the next
number is saved); workspace numbers start again after the highest live one (herdr-protocol.md §2.1).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import msgspec

from coordinatord.panehost import tree
from coordinatord.panehost.tree import Direction, Leaf, Node

_DIGITS: Final = "123456789ABCDEFGHJKMNPQRSTVWXYZ0"
_MOST_ALIASES: Final = 1000


def write_number(number: int) -> str:
    """A number from 1 as Herdr writes it in ids: base 32 without a zero; ``0`` stands for 32."""
    text = ""
    while number > 0:
        number, digit = divmod(number - 1, 32)
        text = _DIGITS[digit] + text
    return text


class Tab(msgspec.Struct, kw_only=True):
    """One tab: a split tree and the pane in it that has the focus."""

    tab_id: str
    number: int
    label: str | None
    root: Node
    focused: str


class Workspace(msgspec.Struct, kw_only=True):
    """One host workspace; ``next_pane`` and ``next_tab`` only grow."""

    workspace_id: str
    label: str
    tabs: list[Tab] = []
    active: str = ""
    next_pane: int = 1
    next_tab: int = 1

    def panes(self) -> Iterator[str]:
        """All pane ids: tab by tab, in layout order."""
        for tab in self.tabs:
            yield from tree.leaves(tab.root)

    def active_tab(self) -> Tab:
        """The tab that shows when the workspace shows."""
        return next(tab for tab in self.tabs if tab.tab_id == self.active)

    def new_pane_id(self) -> str:
        """The next pane id, used up by asking."""
        number = self.next_pane
        self.next_pane += 1
        return f"{self.workspace_id}:p{write_number(number)}"


class Left(msgspec.Struct, frozen=True, kw_only=True):
    """What a pane left behind: the tab and the workspace that closed because it was their last."""

    tab: Tab | None = None
    workspace: Workspace | None = None


class Moved(msgspec.Struct, frozen=True, kw_only=True):
    """Where a pane went, and what closed or was made on the way."""

    pane_id: str
    left: Left
    tab: Tab
    created_tab: Tab | None = None
    created_workspace: Workspace | None = None


class Layout(msgspec.Struct, kw_only=True):
    """Everything that stands somewhere, in display order. ``active`` is None only while it is
    empty.
    """

    workspaces: list[Workspace] = []
    active: str | None = None
    next_workspace: int = 1
    aliases: dict[str, str] = {}

    # looking things up

    def workspace(self, workspace_id: str) -> Workspace | None:
        """By id, or by 1-based position written ``2`` or ``w_2`` as Herdr takes it (trap 21)."""
        for workspace in self.workspaces:
            if workspace.workspace_id == workspace_id:
                return workspace
        digits = workspace_id.removeprefix("w_")
        if digits.isascii() and digits.isdigit() and 0 < int(digits) <= len(self.workspaces):
            return self.workspaces[int(digits) - 1]
        return None

    def tab(self, tab_id: str) -> tuple[Workspace, Tab] | None:
        """The tab and its workspace."""
        for workspace in self.workspaces:
            for tab in workspace.tabs:
                if tab.tab_id == tab_id:
                    return workspace, tab
        return None

    def where(self, pane_id: str) -> tuple[Workspace, Tab]:
        """Where a pane of this layout stands; a pane that is not in it is a `KeyError`."""
        for workspace in self.workspaces:
            for tab in workspace.tabs:
                if pane_id in tree.leaves(tab.root):
                    return workspace, tab
        raise KeyError(pane_id)

    def panes(self) -> Iterator[str]:
        """All pane ids: workspace by workspace, tab by tab, in layout order."""
        for workspace in self.workspaces:
            yield from workspace.panes()

    def resolve(self, text: str) -> str | None:
        """The current id behind an id, an id before a move, or a legacy ``p_1`` or ``w1-1``."""
        known = set(self.panes())
        while text in self.aliases and text not in known:
            text = self.aliases[text]
        if text in known:
            return text
        workspace_id, dash, digits = text.rpartition("-")
        if dash:
            found = self.workspace(workspace_id)
            candidates = list(found.panes()) if found else []
        else:
            candidates, digits = list(self.panes()), text.removeprefix("p_")
            if digits == text:
                return None
        if digits.isascii() and digits.isdigit() and 0 < int(digits) <= len(candidates):
            return candidates[int(digits) - 1]
        return None

    def focused(self) -> tuple[Workspace, Tab, str] | None:
        """The workspace, tab and pane with the focus, or None while nothing is open."""
        for workspace in self.workspaces:
            if workspace.workspace_id == self.active:
                tab = workspace.active_tab()
                return workspace, tab, tab.focused
        return None

    def is_focused(self, pane_id: str) -> bool:
        """Does this pane have the focus of the whole session?"""
        focused = self.focused()
        return focused is not None and focused[2] == pane_id

    def shows(self, pane_id: str) -> bool:
        """Is the pane in the active tab of the active workspace?"""
        focused = self.focused()
        return focused is not None and pane_id in tree.leaves(focused[1].root)

    # opening

    def open_workspace(self, label: str, *, focus: bool) -> tuple[Workspace, Tab, str]:
        """A workspace with one tab and one pane. The first one is focused even if not asked for."""
        workspace = self._add_workspace(label)
        pane_id = workspace.new_pane_id()
        tab = self._add_tab(workspace, None, pane_id)
        if focus or self.active is None:
            self.active = workspace.workspace_id
        return workspace, tab, pane_id

    def open_tab(self, workspace: Workspace, label: str | None, *, focus: bool) -> tuple[Tab, str]:
        """A tab with one pane at the end of a workspace."""
        pane_id = workspace.new_pane_id()
        tab = self._add_tab(workspace, label, pane_id)
        if focus:
            self.focus(pane_id)
        return tab, pane_id

    def split(self, target: str, direction: Direction, ratio: float | None, *, focus: bool) -> str:
        """A pane beside ``target``; returns its id."""
        workspace, tab = self.where(target)
        pane_id = workspace.new_pane_id()
        tab.root = tree.beside(tab.root, target, pane_id, direction, ratio)
        if focus:
            self.focus(pane_id)
        return pane_id

    def focus(self, pane_id: str) -> None:
        """Show and focus a pane."""
        workspace, tab = self.where(pane_id)
        tab.focused = pane_id
        workspace.active = tab.tab_id
        self.active = workspace.workspace_id

    # closing and moving

    def drop(self, pane_id: str) -> Left:
        """Take a pane out; its tab closes with its last pane, its workspace with its last tab."""
        workspace, tab = self.where(pane_id)
        if tab.focused == pane_id:
            tab.focused = tree.heir(tab.root, pane_id) or pane_id
        rest = tree.without(tab.root, pane_id)
        if rest is None:
            return self.drop_tab(workspace, tab)
        tab.root = rest
        return Left()

    def drop_tab(self, workspace: Workspace, tab: Tab) -> Left:
        """Take a tab out, and with the last one its workspace."""
        if len(workspace.tabs) == 1:
            self.drop_workspace(workspace)
            return Left(tab=tab, workspace=workspace)
        position = workspace.tabs.index(tab)
        workspace.tabs.remove(tab)
        if workspace.active == tab.tab_id:
            workspace.active = workspace.tabs[min(position, len(workspace.tabs) - 1)].tab_id
        return Left(tab=tab)

    def drop_workspace(self, workspace: Workspace) -> None:
        """Take a workspace out; the one that takes its position gets the focus if it had it."""
        position = self.workspaces.index(workspace)
        self.workspaces.remove(workspace)
        if self.active == workspace.workspace_id:
            heir = self.workspaces[min(position, len(self.workspaces) - 1) :][:1]
            self.active = heir[0].workspace_id if heir else None

    def move_beside(
        self, pane_id: str, target: str, direction: Direction, ratio: float | None
    ) -> Moved:
        """Move a pane beside another one of another tab."""
        workspace, tab = self.where(target)
        new_id = self._identity_in(workspace, pane_id)
        left = self.drop(pane_id)
        tab.root = tree.beside(tab.root, target, new_id, direction, ratio)
        return Moved(pane_id=new_id, left=left, tab=tab)

    def move_to_new_tab(self, pane_id: str, workspace: Workspace, label: str | None) -> Moved:
        """Move a pane to a new tab at the end of a workspace."""
        new_id = self._identity_in(workspace, pane_id)
        # the new tab comes first, so that a workspace never closes under its own move
        tab = self._add_tab(workspace, label, "")
        left = self.drop(pane_id)
        tab.root, tab.focused = Leaf(new_id), new_id
        return Moved(pane_id=new_id, left=left, tab=tab, created_tab=tab)

    def move_to_new_workspace(self, pane_id: str, label: str, tab_label: str | None) -> Moved:
        """Move a pane to a workspace of its own."""
        workspace = self._add_workspace(label)
        moved = self.move_to_new_tab(pane_id, workspace, tab_label)
        return msgspec.structs.replace(moved, created_workspace=workspace)

    def tab_label(self, workspace: Workspace, tab: Tab) -> str:
        """The given label, or the tab's position."""
        return tab.label if tab.label is not None else str(workspace.tabs.index(tab) + 1)

    def _identity_in(self, workspace: Workspace, pane_id: str) -> str:
        if self.where(pane_id)[0] is workspace:
            return pane_id
        new_id = workspace.new_pane_id()
        self.aliases[pane_id] = new_id
        while len(self.aliases) > _MOST_ALIASES:
            del self.aliases[next(iter(self.aliases))]
        return new_id

    def _add_workspace(self, label: str) -> Workspace:
        workspace = Workspace(workspace_id=f"w{write_number(self.next_workspace)}", label=label)
        self.next_workspace += 1
        self.workspaces.append(workspace)
        return workspace

    def _add_tab(self, workspace: Workspace, label: str | None, pane_id: str) -> Tab:
        number = workspace.next_tab
        workspace.next_tab += 1
        tab = Tab(
            tab_id=f"{workspace.workspace_id}:t{write_number(number)}",
            number=number,
            label=label,
            root=Leaf(pane_id),
            focused=pane_id,
        )
        workspace.tabs.append(tab)
        workspace.active = workspace.active or tab.tab_id
        return tab
