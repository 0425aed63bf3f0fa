"""Get a decision approved by the external service before it is committed (feature H5, decision 0041).

The use case decides in a transaction that is rolled back, so that no lock is held while the service is asked. Then it
decides again, and commits only what was approved.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from leasehold.model.errors import UnsettledError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from leasehold.enforcement.external import ExternalCall
    from leasehold.leasing.service import Service

Result = TypeVar("Result")

QUESTIONS = 3
"""How often the service is asked about one request, each time because other resources were chosen meanwhile."""


class UnapprovedError(Exception):
    """Nobody has approved this decision yet; it is raised inside the transaction, which is rolled back."""

    def __init__(self, decision: object, bodies: Sequence[Mapping[str, Any]]) -> None:
        super().__init__("not approved yet")
        self.decision = decision
        self.bodies = bodies


@dataclass(frozen=True, slots=True)
class Approval:
    """The decision that the service has approved, None if none yet; `needed` says whether it has to approve at all."""

    needed: bool
    decision: object = None

    def require(self, decision: object, *bodies: Callable[[], Mapping[str, Any]]) -> None:
        """Return if the decision may be committed; raises UnapprovedError, for `approved`, if it is not approved.

        Each of the `bodies` is a question about it.
        """
        if self.needed and decision != self.decision:
            raise UnapprovedError(decision, [body() for body in bodies])


UNASKED = Approval(needed=False)
"""Nobody has to approve."""


def approved(service: Service, call: ExternalCall, project_id: str, decide: Callable[[Approval], Result]) -> Result:
    """Return what `decide` returns, which commits only if it gets the approval of its decision.

    `decide` runs once if no external service is asked about this call, after what it needs to know from other services
    about the project was read. Raises ExternallyDeniedError, NoDecisionError,
    and UnsettledError if each approved decision was overtaken by another request.
    """
    service.enforcement.look_outside(project_id)
    if not service.enforcement.asks(call, project_id):
        return decide(UNASKED)
    approval = Approval(needed=True)
    for left in range(QUESTIONS, -1, -1):
        try:
            return decide(approval)
        except UnapprovedError as found:
            question = found
        if left:
            for body in question.bodies:
                service.enforcement.ask(call, body)
            approval = Approval(needed=True, decision=question.decision)
    raise UnsettledError
