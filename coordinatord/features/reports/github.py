"""What `gh pr view --json` says, as an observation. Pure."""

from __future__ import annotations

from typing import Final, Literal

import msgspec

from coordinatord.features.reports.records import Observation, Observed, Unobserved

FIELDS: Final = "state,url,headRefName,headRefOid,baseRefName,mergeCommit"


class _Commit(msgspec.Struct, frozen=True):
    oid: str


class _Shown(msgspec.Struct, frozen=True, rename="camel"):
    state: Literal["OPEN", "MERGED", "CLOSED"]
    url: str
    head_ref_name: str
    head_ref_oid: str
    base_ref_name: str
    merge_commit: _Commit | None = None


def command(number: int, repository: str | None) -> list[str]:
    """The arguments of `gh`; both values are checked by the request."""
    where = ["--repo", repository] if repository else []
    return ["pr", "view", str(number), "--json", FIELDS, *where]


def observed(output: bytes) -> Observation:
    """What was seen; an answer that cannot be read is uncertain."""
    try:
        shown = msgspec.json.decode(output, type=_Shown)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return Unobserved(why="unreadable")
    states: dict[str, Literal["open", "merged", "closed"]] = {
        "OPEN": "open",
        "MERGED": "merged",
        "CLOSED": "closed",
    }
    return Observed(
        state=states[shown.state],
        url=shown.url,
        head_branch=shown.head_ref_name,
        head_sha=shown.head_ref_oid,
        base_branch=shown.base_ref_name,
        merge_commit=shown.merge_commit.oid if shown.merge_commit else None,
    )
