"""What time alone changes: expired messages, old idempotency keys, what is long over, panes long gone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import anyio
from anyio.abc import TaskStatus

from coordinatord.errors import Refused
from coordinatord.features.messages import table as messages
from coordinatord.features.upkeep.run_retention import Retention
from coordinatord.store import keys
from coordinatord.store.database import Transaction

if TYPE_CHECKING:
    from coordinatord.daemon.parts import Parts

SWEEP_EVERY_S: Final = 60.0
RETAIN_EVERY_S: Final = 3600.0
DAY_S: Final = 86400.0


async def sweep(
    parts: Parts, log: Any, *, task_status: TaskStatus[None] = anyio.TASK_STATUS_IGNORED
) -> None:
    """Go round for ever. A refusal of the store is told, and the next round tries again."""
    task_status.started()
    ground, prune_at = parts.ground, 0.0
    retention = Retention(ground.database, parts.sightings, parts.sources, ground.premises)
    while True:
        now = ground.clock.awake()
        try:
            await ground.database.write(_expire)
            if ground.settings.retention_days and now >= prune_at:
                before = ground.clock.wall() - ground.settings.retention_days * DAY_S
                pruned = await retention.apply(before, dry_run=False)
                prune_at = now if pruned.more else now + RETAIN_EVERY_S
        except Refused as error:
            log.warning("sweep-failed", reason=error.reason)
        parts.typist.forget(frozenset(parts.sightings.panes))
        await ground.clock.sleep(SWEEP_EVERY_S)


def _expire(tx: Transaction) -> None:
    messages.expire(tx)
    keys.expire(tx, tx.now)
