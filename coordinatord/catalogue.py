"""Every request of every feature, and the command that makes it: one table.

Read by the server, the command line, MCP, OpenRPC and the reference pages. A test pairs every request
with exactly one handler; two requests of one method, or two commands of one name, do not load.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from coordinatord.daemon import requests as daemon
from coordinatord.features.attention import requests as attention
from coordinatord.features.briefs import requests as briefs
from coordinatord.features.delivery import requests as delivery
from coordinatord.features.launches import requests as launches
from coordinatord.features.messages import requests as messages
from coordinatord.features.panes import requests as panes
from coordinatord.features.questions import requests as questions
from coordinatord.features.reports import requests as reports
from coordinatord.features.tasks import requests as tasks
from coordinatord.features.tool_runs import requests as tools
from coordinatord.features.trace import requests as trace
from coordinatord.features.typing import requests as typing
from coordinatord.features.upkeep import requests as upkeep
from coordinatord.features.views import requests as views
from coordinatord.wire.requests import Request, method_of


class Command(msgspec.Struct, frozen=True):
    """How the command line spells a request.

    ``positional`` fields stand in order; all others are flags. ``text`` names the positional for which
    ``-`` means standard input; ``file`` a field that has a ``--<field>-file`` flag as well; ``rest`` the
    field that takes everything after ``--``.
    """

    words: str
    request: type[Request[Any]]
    positional: tuple[str, ...] = ()
    text: str | None = None
    file: str | None = None
    rest: str | None = None


COMMANDS: Final[tuple[Command, ...]] = (
    Command("init", delivery.InitSeat),
    Command("whoami", panes.WhoAmI),
    Command("bind", panes.BindSeat, ("task",)),
    Command("task new", tasks.NewTask, ("title",), file="brief"),
    Command("task list", tasks.ListTasks),
    Command("ask", questions.AskQuestion, ("text",), text="text"),
    Command("answer", questions.AnswerQuestion, ("question", "text"), text="text"),
    Command("resolve", questions.ResolveQuestion, ("question",)),
    Command("question close", questions.CloseQuestion, ("question",)),
    Command("report", reports.FileReport, ("text",), text="text"),
    Command("handoff", reports.FileHandoff, ("task",)),
    Command("verify", reports.RecordVerification, ("task",)),
    Command("review", reports.FileReview, ("task", "text"), text="text"),
    Command("pr observe", reports.ObservePublication, ("task",)),
    Command("note", reports.AddNote, ("task", "text"), text="text"),
    Command("notes", reports.ListNotes, ("task",)),
    Command("decide", briefs.RecordDecision, ("task", "text"), text="text"),
    Command("brief list", briefs.ListRevisions, ("task",)),
    Command("brief show", briefs.ReadBrief, ("brief",)),
    Command("brief regenerate", briefs.RegenerateBrief, ("task",), file="policy"),
    Command("brief request", briefs.RequestBrief, ("brief",)),
    Command("brief adopt", briefs.AdoptBrief, ("brief",)),
    Command("send", messages.SendMessage, ("to", "text"), text="text"),
    Command("ack", messages.AckMessage, ("message",)),
    Command("withdraw", messages.WithdrawMessage, ("message",)),
    Command("inbox", views.ReadInbox),
    Command("rundown", views.ReadRundown),
    Command("context", views.ReadContext, ("task",)),
    Command("log", views.ReadLog),
    Command("show", views.ShowRecord, ("id",)),
    Command("why", views.ExplainRecord, ("id",)),
    Command("watch", views.SubscribeWatch),
    Command("status", views.ReadStatus),
    Command("wait", views.WaitFor, ("target",)),
    Command("notice", delivery.NoticeSeat, ("seat",)),
    Command("pump", delivery.PumpNow),
    Command("wake show", delivery.ShowWake),
    Command("wake consume", delivery.ConsumeWake, ("boundary",)),
    Command("delivery enable", delivery.EnableDelivery),
    Command("delivery disable", delivery.DisableDelivery),
    Command("delivery status", delivery.ReadDelivery),
    Command("delivery shadow on", delivery.EnterShadow),
    Command("delivery shadow off", delivery.LeaveShadow),
    Command("delivery shadow report", delivery.ReadShadow),
    Command("attention list", attention.ListAttention),
    Command("attention seen", attention.SeeAttention, ("alert",)),
    Command("pause", typing.PauseTyping),
    Command("resume", typing.ResumeTyping),
    Command("pane open", launches.OpenPane, rest="command"),
    Command("pane list", panes.ListPanes),
    Command("pane read", panes.ReadPane, ("pane",)),
    Command("pane send", typing.SendToPane, ("pane", "text"), text="text"),
    Command("pane close", panes.ClosePane, ("pane",)),
    Command("tool run", tools.RunTool, ("label",), rest="command"),
    Command("tool list", tools.ListRuns),
    Command("tool result", tools.TakeResult, ("run",)),
    Command("tool tail", tools.ReadOutput, ("run",)),
    Command("tool cancel", tools.CancelRun, ("run",)),
    Command("tool close", tools.CloseTool, ("label",)),
    Command("archive", upkeep.ArchiveTask, ("task",)),
    Command("prune", upkeep.Prune),
    Command("backup", upkeep.BackUp, ("destination",)),
    Command("export", upkeep.Export),
    Command("doctor", upkeep.Examine),
    Command("config", daemon.ReadConfig),
    Command("down", daemon.StopDaemon),
    Command("discover", daemon.Discover),
)

ALIASES: Final[dict[str, str]] = {
    "hook enable": "delivery enable",
    "hook disable": "delivery disable",
    "hook status": "delivery status",
}
"""Other spellings of commands: alias and the command's words."""

REQUESTS: Final[tuple[type[Request[Any]], ...]] = (
    daemon.Hello,
    tools.ClaimRun,
    tools.FinishRun,
    trace.RecordTrace,
    *(command.request for command in COMMANDS),
)
"""Every method there is."""

BY_METHOD: Final[dict[str, type[Request[Any]]]] = {method_of(each): each for each in REQUESTS}

if len(BY_METHOD) != len(REQUESTS):
    raise TypeError("two requests have one method name")
if len({command.words for command in COMMANDS}) != len(COMMANDS):
    raise TypeError("two commands have one name")
