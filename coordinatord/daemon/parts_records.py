"""The routes of tasks and of all records about them: who states what, who binds whom."""

from __future__ import annotations

from collections.abc import Mapping

from coordinatord.daemon.ground import Ground
from coordinatord.daemon.routes import Frame
from coordinatord.features.briefs import methods as briefs
from coordinatord.features.briefs import requests as brief_requests
from coordinatord.features.briefs.records import Decided
from coordinatord.features.briefs.table import active_number
from coordinatord.features.obligations.table import Sources
from coordinatord.features.panes.requests import BindSeat
from coordinatord.features.panes.run_look import Lookout
from coordinatord.features.questions import methods as questions
from coordinatord.features.questions import requests as question_requests
from coordinatord.features.questions.table import answers_on
from coordinatord.features.reports import methods as reports
from coordinatord.features.reports import requests as report_requests
from coordinatord.features.reports.run_observe import PublicationMethods
from coordinatord.features.tasks import methods as tasks
from coordinatord.features.tasks import requests as task_requests
from coordinatord.features.tasks.run_bind import BindMethods, bind
from coordinatord.features.upkeep import requests as upkeep_requests
from coordinatord.features.upkeep.methods import UpkeepMethods
from coordinatord.ids import TaskId
from coordinatord.server.dispatch import Route
from coordinatord.store.database import View


def routes(ground: Ground, lookout: Lookout, frame: Frame) -> list[Route]:
    """One route for each of these requests."""
    task = tasks.TaskMethods(lookout)
    closing = questions.ClosingMethods(ground.database, lookout)
    report = reports.ReportMethods(ground.in_repository, lookout, active_number)
    brief = briefs.BriefMethods(_decided)
    publication = _publications(ground)
    return [
        frame.looking(BindSeat, BindMethods(lookout).look, bind),
        frame.looking(task_requests.NewTask, task.look, tasks.new),
        frame.reading(task_requests.ListTasks, tasks.listed),
        frame.writing(question_requests.AskQuestion, questions.ask),
        frame.writing(question_requests.AnswerQuestion, questions.answer),
        frame.writing(question_requests.ResolveQuestion, questions.resolve),
        frame.looking(question_requests.CloseQuestion, closing.look, closing.close),
        frame.writing(report_requests.FileReport, report.file),
        frame.writing(report_requests.FileHandoff, report.hand_off),
        frame.writing(report_requests.RecordVerification, report.verify),
        frame.looking(report_requests.FileReview, report.look, report.review),
        frame.acting(report_requests.ObservePublication, publication.observe),
        frame.writing(report_requests.AddNote, reports.note),
        frame.reading(report_requests.ListNotes, reports.notes),
        frame.reading(brief_requests.ListRevisions, brief.listed),
        frame.reading(brief_requests.ReadBrief, brief.read),
        frame.writing(brief_requests.RegenerateBrief, brief.regenerate),
        frame.writing(brief_requests.RequestBrief, brief.request),
        frame.writing(brief_requests.AdoptBrief, brief.adopt),
        frame.writing(brief_requests.RecordDecision, briefs.decide),
    ]


def upkeep(ground: Ground, lookout: Lookout, sources: Sources, frame: Frame) -> list[Route]:
    """Archive, retention, backup, export, doctor."""
    methods = UpkeepMethods(ground.database, lookout, sources, ground.premises, ground.clock.wall)
    return [
        frame.writing(upkeep_requests.ArchiveTask, methods.archive),
        frame.acting(upkeep_requests.Prune, methods.prune),
        frame.reading(upkeep_requests.Export, methods.export),
        frame.acting(upkeep_requests.BackUp, methods.back_up),
        frame.asking(upkeep_requests.Examine, methods.examine),
    ]


def _publications(ground: Ground) -> PublicationMethods:
    environ: Mapping[str, str] = ground.environ or {"PATH": ground.surroundings.path}
    return PublicationMethods(ground.database, ground.surroundings.root, environ)


def _decided(view: View, task: TaskId) -> list[tuple[int, Decided]]:
    return [
        (given.seq, Decided(record=question.id, text=given.text, asked=question.text))
        for question, given in answers_on(view, task)
    ]
