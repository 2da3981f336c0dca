"""The typed client for Python programs, async and blocking.

    async with connect() as client:
        question = await client.call(AskQuestion(task=task, text="Which port?"))

Invariant: a mutation has one key however often it is sent, so a lost connection is retried once
without doing anything twice. Start with `asynchronous.py`; `calls.py` is what both ways share.
"""

from coordinatord.client.asynchronous import Client, connect
from coordinatord.client.blocking import BlockingClient, connect_blocking
from coordinatord.client.calls import CallFailed, Change, NoDaemon, OutcomeUncertain

__all__ = [
    "BlockingClient",
    "CallFailed",
    "Change",
    "Client",
    "NoDaemon",
    "OutcomeUncertain",
    "connect",
    "connect_blocking",
]
