"""The packaged kinds, loaded once."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from coordinatord.kinds import AgentKind, load


@pytest.fixture(scope="session")
def kinds() -> Mapping[str, AgentKind]:
    return load()


@pytest.fixture(scope="session")
def generic(kinds: Mapping[str, AgentKind]) -> AgentKind:
    return kinds["generic"]
