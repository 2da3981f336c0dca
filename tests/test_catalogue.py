"""Every request has exactly one route, and every command names fields that exist."""

from __future__ import annotations

import random
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

from coordinatord import catalogue
from coordinatord.clock import SystemClock
from coordinatord.daemon.ground import Ground
from coordinatord.daemon.parts import Parts
from coordinatord.daemon.settings import Settings
from coordinatord.features.launches.run import Surroundings
from coordinatord.features.views.methods import Running
from coordinatord.wire.requests import Mutation, method_of, result_of


def _routes() -> list[Any]:
    unused = cast("Any", SimpleNamespace())
    ground = Ground(
        database=unused,
        terminal=unused,
        kinds={},
        clock=SystemClock(),
        source=random.Random(1),
        settings=Settings(),
        surroundings=Surroundings(root="/w", name="w", coordctl=None, path=""),
        running=Running(pid=1, version="0", workspace="/w", socket="/s", started_at=0.0),
        host_socket="/h",
        host_kind="embedded",
        in_repository=False,
        letters=Path("/w/messages"),
        environment=lambda pid: {},
        stop=lambda panes: None,
    )
    return Parts(ground).routes()


def test_every_request_has_exactly_one_route() -> None:
    assert sorted(method_of(route.request) for route in _routes()) == sorted(catalogue.BY_METHOD)


def test_every_command_names_fields_of_its_request() -> None:
    for command in catalogue.COMMANDS:
        fields = set(command.request.__struct_fields__)
        named = {*command.positional, command.text, command.file, command.rest} - {None}
        assert named <= fields, command.words


def test_every_request_says_what_answers_it_and_what_it_is_for() -> None:
    for request in catalogue.REQUESTS:
        assert result_of(request) is not None
        assert (request.__doc__ or "").strip().endswith((".", ")")), request.__name__


def test_every_request_that_writes_takes_a_key() -> None:
    """D-40: any mutating call can be repeated with the same key."""
    writers = [each for each in catalogue.REQUESTS if issubclass(each, Mutation)]
    assert writers
    assert all("key" in each.__struct_fields__ for each in writers)
