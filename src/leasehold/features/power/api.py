"""Sleeping hosts as operators see them, from 1.3 on: machines, how long they take to wake up, and what they save."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Annotated, Final

from pydantic import Field
from typing_extensions import TypedDict

from leasehold.api.call import Reply
from leasehold.api.models.base import RequestModel, answer
from leasehold.api.policies.base import ADMIN, Rule
from leasehold.api.route import ACCEPTED, GONE, V1_3
from leasehold.api.views.shown import shown
from leasehold.features.power import machines
from leasehold.features.power.report import report
from leasehold.model.errors import InvalidInputError

if TYPE_CHECKING:
    from leasehold.api.call import Call
    from leasehold.features.power.machines import MachineNow

USUAL: Final = timedelta(days=30)
"""The length of the report if no window is asked for."""
LONGEST: Final = timedelta(days=400)


class MachineDescription(RequestModel):
    """The body of PUT /v1/power/hosts/{host_id}: the class of the machine, and its address for the driver of that."""

    power_class: Annotated[str, Field(min_length=1, max_length=64)]
    # No driver takes one that begins like an option for a word of its command line.
    address: Annotated[str, Field(min_length=1, max_length=255, pattern=r"^[A-Za-z0-9\[/][^\s\x00-\x1f]*$")]
    kept_on: Annotated[bool, Field(description="It is never switched off by itself")] = False


class MachineAnswer(TypedDict):
    """The machine of a host: how it is switched, and where it is between on and off, since when.

    `ready_at` is when the host can be used at the soonest if it is woken now, null if it is on; `next_start` is when
    something is promised on it. `failure` says why it is not switched any more: send it again when it works.
    """

    host_id: str
    resource_type: str
    hypervisor_hostname: str
    power_class: str
    address: str
    kept_on: bool
    stage: str
    since: str | None
    ready_at: str | None
    next_start: str | None
    failure: str | None
    failed_at: str | None


class MarginAnswer(TypedDict):
    """For how long before a start the machines of a class have to be switched on, as the last wakes say."""

    power_class: str
    wake_seconds: int


class SavedAnswer(TypedDict):
    """What the machines of a class in a zone have saved on a day of UTC.

    `kwh` is null where nobody says what the machines consume. `late_starts` are leases that waited for a machine.
    `delayed_requests` were refused, or granted for later, and would have been granted if no host had slept; they could
    begin `delay_seconds` later together, as far as that is known. One counts in each class and zone that it needs.
    """

    day: str
    power_class: str
    zone: str
    hours_off: float
    kwh: float | None
    wakes: int
    failed_wakes: int
    called_off: int
    late_starts: int
    delayed_requests: int
    delay_seconds: int


OneMachine = answer("OneMachine", "The answer about one machine.", machine=MachineAnswer)
MachineList = answer("MachineList", "The answer about machines.", machines=list[MachineAnswer])
MarginList = answer("MarginList", "The answer about classes of machines.", margins=list[MarginAnswer])
PowerReport = answer("PowerReport", "The answer about what was saved.", report=list[SavedAnswer])


def list_machines(call: Call) -> Reply:
    """Show the machines of hosts that can be switched, and where each is between on and off."""
    return Reply({"machines": list(map(_show, machines.list_machines(call.service)))})


def show(call: Call, host_id: str) -> Reply:
    """Show the machine of one host."""
    return Reply({"machine": _show(machines.get_machine(call.service, host_id))})


def put(call: Call, body: MachineDescription, host_id: str) -> Reply:
    """Say how the machine of a host is switched, so that it may sleep; also that one which has failed works again."""
    found = machines.set_machine(call.service, host_id, body.power_class, body.address, kept_on=body.kept_on)
    return Reply({"machine": _show(found)})


def delete(call: Call, host_id: str) -> Reply:
    """Forget how the machine of a host is switched: it stays on."""
    machines.unset_machine(call.service, host_id)
    return Reply()


def wake(call: Call, host_id: str) -> Reply:
    """Wake a host now; a manager begins within seconds. It sleeps again when it has been idle for long enough."""
    return Reply({"machine": _show(machines.wake_machine(call.service, host_id))})


def list_margins(call: Call) -> Reply:
    """Show how long the machines of each class take to wake up at most: no lease is promised them sooner."""
    found = machines.wake_times(call.service)
    return Reply(
        {
            "margins": [
                {"power_class": name, "wake_seconds": int(takes.total_seconds())} for name, takes in found.items()
            ]
        }
    )


def show_report(call: Call) -> Reply:
    """Show what sleeping hosts have saved in the window [`from`, `to`), by default the last 30 days.

    That is by day, class and zone, with what went wrong.
    """
    now = call.service.now()
    end = call.query_date("to", now) or now
    start = call.query_date("from", now) or end - USUAL
    if not timedelta(0) < end - start <= LONGEST:
        message = f"to has to be after from, by at most {LONGEST.days} days."
        raise InvalidInputError(message, field="to")
    rows = report(call.service, start, end)
    return Reply(
        {"report": [shown(SavedAnswer, saved, **{**part._asdict(), "day": f"{part.day}"}) for part, saved in rows]}
    )


def _show(found: MachineNow) -> MachineAnswer:
    return shown(
        MachineAnswer,
        found.machine,
        host_id=found.resource.id,
        resource_type=found.resource.type,
        hypervisor_hostname=found.resource.label,
        stage=found.stage,
        since=found.since,
        ready_at=found.ready_at,
        next_start=found.next_start,
        failure=found.failure,
    )


_ALL, _ONE = "/v1/power/hosts", "/v1/power/hosts/{host_id}"

GET = Rule("leasehold:power:get", ADMIN, "Show the machines of hosts, and what their sleep saves.")
PUT = Rule("leasehold:power:put", ADMIN, "Say how the machine of a host is switched, and wake it.")

ROUTES = (
    V1_3("GET", _ALL, list_machines, (GET,), None, MachineList),
    V1_3("GET", _ONE, show, (GET,), None, OneMachine),
    V1_3("PUT", _ONE, put, (PUT,), MachineDescription, OneMachine),
    V1_3("DELETE", _ONE, delete, (PUT,), success=GONE),
    V1_3("POST", f"{_ONE}/wake", wake, (PUT,), None, OneMachine, ACCEPTED),
    V1_3("GET", "/v1/power/margins", list_margins, (GET,), None, MarginList),
    V1_3("GET", "/v1/power/report", show_report, (GET,), None, PowerReport, query=("from", "to")),
)
