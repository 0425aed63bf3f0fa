"""Hosts that are switched off while nobody needs them, for operators."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from leasehold_client.calls.answer import AnswerModel
from leasehold_client.calls.transport import Calls
from leasehold_client.calls.wire import write_time

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime


@dataclass(frozen=True, slots=True)
class Machine(AnswerModel):
    """The machine of a host, and where it is between on and off; `failure` says why it is not switched any more."""

    host_id: str
    resource_type: str
    hypervisor_hostname: str
    power_class: str
    address: str
    kept_on: bool
    stage: str
    ready_at: datetime | None
    failure: str | None
    failed_at: datetime | None


@dataclass(frozen=True, slots=True)
class Saved(AnswerModel):
    """What the machines of a class in a zone have saved on a day; `kwh` None: nobody says what they consume."""

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


class Power(Calls):
    """The machines of hosts; by default for administrators. Hosts are named by their id."""

    def list(self) -> Sequence[Machine]:
        """Return the machines that can be switched."""
        return [Machine.read(each) for each in self._transport.get("/power/hosts")["machines"]]

    def get(self, host_id: str) -> Machine:
        """Return the machine of a host; raises NotFoundError if nothing is said of it."""
        return Machine.read(self._transport.get(f"/power/hosts/{host_id}")["machine"])

    def set(self, host_id: str, power_class: str, address: str, *, kept_on: bool = False) -> Machine:
        """Say how the machine of a host is switched, and that it works."""
        body = {"power_class": power_class, "address": address, "kept_on": kept_on}
        return Machine.read(self._transport.put(f"/power/hosts/{host_id}", body)["machine"])

    def unset(self, host_id: str) -> None:
        """Forget how the machine of a host is switched: it stays on."""
        self._transport.delete(f"/power/hosts/{host_id}")

    def wake(self, host_id: str) -> Machine:
        """Wake a host now, and return its machine."""
        return Machine.read(self._transport.post(f"/power/hosts/{host_id}/wake", {})["machine"])

    def margins(self) -> Mapping[str, int]:
        """Return how many seconds the machines of each class take to wake up at most."""
        found = self._transport.get("/power/margins")["margins"]
        return {each["power_class"]: each["wake_seconds"] for each in found}

    def report(self, start: datetime, end: datetime) -> Sequence[Saved]:
        """Return what was saved in [start, end), by day, class and zone."""
        answer = self._transport.get("/power/report", {"from": write_time(start), "to": write_time(end)})
        return [Saved.read(each) for each in answer["report"]]
