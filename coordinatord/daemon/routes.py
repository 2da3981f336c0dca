"""Pairs every request with exactly one function, and gives all of them one frame.

The frame proves the caller, checks the method's access, and keeps idempotency keys: inside the
transaction for what only writes, around the act for what also acts on the world.
"""

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, Final, TypeVar

import anyio
import msgspec

from coordinatord.daemon.callers import Callers
from coordinatord.errors import Refused
from coordinatord.features.panes import authority
from coordinatord.features.panes import table as seats
from coordinatord.features.panes.records import Caller
from coordinatord.server.dispatch import Link, Route
from coordinatord.store import keys
from coordinatord.store.call import done_for
from coordinatord.store.database import Database, Transaction, View
from coordinatord.wire.requests import Mutation, Request, method_of

Q = TypeVar("Q", bound=Request[Any])
M = TypeVar("M", bound=Mutation[Any])
F = TypeVar("F")

Encoder = msgspec.json.Encoder

_Place = tuple[str, str, str]
"""Method, scope and key: where an answer is kept."""
_MOST_UNWRITTEN: Final = 1000
"""Answers that wait in memory while the store takes none; the oldest goes first."""


class Frame:
    """Makes routes."""

    def __init__(self, database: Database, callers: Callers, source: random.Random) -> None:
        self._database = database
        self._callers = callers
        self._source = source
        self._in_hand: dict[_Place, anyio.Lock] = {}
        self._unwritten: dict[_Place, tuple[Mutation[Any], msgspec.Raw]] = {}

    def answering(self, request: type[Q], fn: Callable[[Caller, Q], object]) -> Route:
        """``fn`` needs to know the caller and nothing else."""

        async def run(link: Link, asked: Q) -> object:
            return fn(await self._caller(link, asked), asked)

        return Route(request, run)

    def reading(self, request: type[Q], fn: Callable[[View, Caller, Q], object]) -> Route:
        """``fn`` reads the store."""

        async def run(link: Link, asked: Q) -> object:
            return await self._database.read(fn, await self._caller(link, asked), asked)

        return Route(request, run)

    def asking(self, request: type[Q], fn: Callable[[Caller, Q], Awaitable[object]]) -> Route:
        """``fn`` asks the world and changes nothing."""

        async def run(link: Link, asked: Q) -> object:
            caller = await self._caller(link, asked)
            with done_for(method_of(asked)):
                return await fn(caller, asked)

        return Route(request, run)

    def following(
        self, request: type[Q], fn: Callable[[Link, Caller, Q], Awaitable[object]]
    ) -> Route:
        """``fn`` goes on sending to the connection after its answer."""

        async def run(link: Link, asked: Q) -> object:
            return await fn(link, await self._caller(link, asked), asked)

        return Route(request, run)

    def writing(self, request: type[M], fn: Callable[[Transaction, Caller, M], object]) -> Route:
        """``fn`` is the whole change: one transaction, together with its key."""

        async def run(link: Link, asked: M) -> object:
            caller = await self._caller(link, asked)
            with done_for(method_of(asked)):
                return await self._database.write(_keyed, fn, caller, asked, ())

        return Route(request, run)

    def looking(
        self,
        request: type[M],
        look: Callable[[Caller, M], Awaitable[F]],
        fn: Callable[[Transaction, Caller, M, F], object],
    ) -> Route:
        """``look`` observes the world first; ``fn`` is one transaction that uses what was seen."""

        async def run(link: Link, asked: M) -> object:
            caller = await self._caller(link, asked)
            kept = await self._database.read(_replayed, caller, asked)
            if kept is not None:
                return kept
            found = await look(caller, asked)
            with done_for(method_of(asked)):
                return await self._database.write(_keyed, fn, caller, asked, (found,))

        return Route(request, run)

    def acting(self, request: type[M], fn: Callable[[Caller, M], Awaitable[object]]) -> Route:
        """``fn`` acts on the world; a repeated key waits for the first act and gets its answer.

        An act that is done is answered so, also where the store cannot keep the answer: nobody may
        be told that nothing happened. This process still knows it then.
        """

        async def run(link: Link, asked: M) -> object:
            caller = await self._caller(link, asked)
            if not asked.key:
                asked = msgspec.structs.replace(asked, key=self._source.randbytes(12).hex())
            return await self._once(caller, asked, lambda: fn(caller, asked))

        return Route(request, run)

    def taking(self, request: type[M], fn: Callable[[Link, Caller, M], Awaitable[object]]) -> Route:
        """As `following`; done again it does nothing, so the answer is kept only for a key that came
        with the request."""

        async def run(link: Link, asked: M) -> object:
            caller = await self._caller(link, asked)
            if not asked.key:
                return await fn(link, caller, asked)
            return await self._once(caller, asked, lambda: fn(link, caller, asked))

        return Route(request, run)

    async def _once(
        self, caller: Caller, asked: Mutation[Any], act: Callable[[], Awaitable[object]]
    ) -> object:
        async with self._only_one(caller, asked) as place:
            known, answer = self._unwritten.get(place, (None, None))
            if known == asked:
                return answer
            kept = await self._database.read(_replayed, caller, asked)
            if kept is not None:
                return kept
            with done_for(method_of(asked)):
                result = msgspec.Raw(msgspec.json.encode(await act()))
            try:
                return await self._database.write(_kept, caller, asked, result)
            except Refused:
                self._remember(place, asked, result)
                return result

    async def _caller(self, link: Link, request: Request[Any]) -> Caller:
        caller = await self._callers.of(link)
        authority.check(request.access, caller)
        return caller

    def _remember(self, place: _Place, asked: Mutation[Any], result: msgspec.Raw) -> None:
        self._unwritten[place] = asked, result
        if len(self._unwritten) > _MOST_UNWRITTEN:
            del self._unwritten[next(iter(self._unwritten))]

    @asynccontextmanager
    async def _only_one(self, caller: Caller, asked: Mutation[Any]) -> Any:
        place = (method_of(asked), scope_of(caller, asked), asked.key)
        lock = self._in_hand.setdefault(place, anyio.Lock())
        try:
            async with lock:
                yield place
        finally:
            if not lock.statistics().tasks_waiting and not lock.locked():
                self._in_hand.pop(place, None)


def scope_of(caller: Caller, asked: Mutation[Any]) -> str:
    """What a key is unique within: the method's own scope, by default the caller's seat."""
    match asked.key_scope:
        case None:
            return caller.seat
        case "terminal_id":
            return caller.terminal_id or caller.seat
        case field:
            return str(getattr(asked, field))


def _replayed(view: View, caller: Caller, asked: Mutation[Any]) -> msgspec.Raw | None:
    body = msgspec.json.encode(asked)
    kept = keys.replay(view, method_of(asked), scope_of(caller, asked), asked.key, body)
    return None if kept is None else msgspec.Raw(kept)


def _kept(tx: Transaction, caller: Caller, asked: Mutation[Any], result: object) -> msgspec.Raw:
    answer = msgspec.json.encode(result)
    if asked.key:
        body = msgspec.json.encode(asked)
        keys.keep(tx, method_of(asked), scope_of(caller, asked), asked.key, body, answer)
    return msgspec.Raw(answer)


def _keyed(
    tx: Transaction,
    fn: Callable[..., object],
    caller: Caller,
    asked: Mutation[Any],
    found: tuple[object, ...],
) -> msgspec.Raw:
    kept = _replayed(tx, caller, asked)
    if kept is None:
        seats.adopt(tx, caller)
    return _kept(tx, caller, asked, fn(tx, caller, asked, *found)) if kept is None else kept
