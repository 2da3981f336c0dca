"""Answers `report.file` and `verification.record`."""

from __future__ import annotations

from coordinatord.features.panes.records import Caller
from coordinatord.features.reports import table
from coordinatord.features.reports.records import Report, Verification
from coordinatord.features.reports.requests import FileReport, RecordVerification
from coordinatord.store.database import Transaction


class ReportMethods:
    """Routes of this feature; ``in_repository`` says whether the workspace is one."""

    def __init__(self, in_repository: bool) -> None:
        self._in_repository = in_repository

    def file(self, tx: Transaction, caller: Caller, request: FileReport) -> Report:
        """Record a report."""
        return table.file(tx, caller, request.task, request.outcome, request.text)

    def verify(self, tx: Transaction, caller: Caller, request: RecordVerification) -> Verification:
        """Record a verification."""
        return table.verify(
            tx, caller, request.task, request.candidate, request.result, self._in_repository
        )
