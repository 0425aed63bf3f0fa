"""`audit show` and `audit start`: what the service has found between the cloud and its database."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leasehold_client.cli.command.base import TalkingLister

if TYPE_CHECKING:
    import argparse

    from leasehold_client.audit import AuditReport

Table = tuple[tuple[str, ...], list[tuple[object, ...]]]


class ShowAudit(TalkingLister):
    """Print what the last round of the periodic audit has found, and what becomes of it."""

    nothing = "Nothing is known that differs between the cloud and the database."

    def take_action(self, _parsed_args: argparse.Namespace) -> Table:
        return self._table(self.client.audit.show())

    def _table(self, report: AuditReport) -> Table:
        self.tell(self._sentence(report))
        rows: list[tuple[object, ...]] = [
            (
                self.moment(each.found_at),
                each.kind,
                each.subject,
                each.what,
                each.repaired or each.repair or each.remedy,
            )
            for each in report.findings
        ]
        return ("since", "kind", "subject", "what is wrong", "what becomes of it"), rows

    def _sentence(self, report: AuditReport) -> str:
        if report.failure is not None:
            return report.failure
        if report.under_way:
            return "A round is under way."
        if report.ended_at is None:
            return "There was no round yet."
        return f"The last round ended {self.moment(report.ended_at)}."


class StartAudit(ShowAudit):
    """Ask for a round of the periodic audit now, and print what the last one has found."""

    def take_action(self, _parsed_args: argparse.Namespace) -> Table:
        return self._table(self.client.audit.ask())
