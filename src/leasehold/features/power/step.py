"""What a sleep under way needs next. Each step may be repeated, also after a crash half-way, or by two managers."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING

from leasehold.cloud.ports import CloudError
from leasehold.features.power.metrics import FAILED, LATE, SWITCHED
from leasehold.features.power.model import Outcome, Stage
from leasehold.features.power.port import PowerError
from leasehold.features.power.store import change_sleep, open_sleeps
from leasehold.features.power.use import distrust, expect, fail, ready, stop, wake
from leasehold.leasing.healing.heal import heal_leases

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from sqlalchemy import Connection

    from leasehold.features.power.model import Machine, Sleep
    from leasehold.features.power.options import MachineClass
    from leasehold.features.power.port import Power
    from leasehold.features.power.use import Host
    from leasehold.leasing.service import Service

log = logging.getLogger(__name__)

CLOSED_WITHIN = timedelta(minutes=5)
"""A host that cannot be closed for so long stays on."""
QUIET_WITHIN = timedelta(minutes=5)
"""A host whose machine is off has to be down within so long after the time to shut down."""
OFF_WITHIN = timedelta(minutes=15)
"""A machine that cannot be switched off for so long after its time to shut down is not trusted, and stays on."""


@dataclass(frozen=True, slots=True)
class Step:
    """One sleep under way, and all that it takes to go on with it; a machine that is off `takes` so long to wake up."""

    service: Service
    machine: Machine
    machine_class: MachineClass
    host: Host
    sleep: Sleep
    power: Power
    takes: timedelta

    @property
    def label(self) -> str:
        """The name that people know the host by."""
        return self.host.resource.label

    def go_on(self) -> None:
        """Do what the sleep needs next; raises CloudError and PowerError."""
        if self.sleep.stage is Stage.CLOSING or (self.sleep.stage is Stage.WAKING and self.sleep.stopped_at is None):
            self._close()
        elif self.sleep.off_at is None:
            self._stop()
        else:
            self._wake()

    def _close(self) -> None:
        """Close the host and shut its machine down; it stays on if anything is on it, or somebody needs it."""
        since = self.service.now() - self.sleep.decided_at
        if self.sleep.woken_at is not None:
            self._call_off("somebody needs it")
            return
        try:
            users = self.host.driver.close(self.service.cloud, self.host.resource.attributes)
            why = None if users is None else f"it has {users}"
        except CloudError as error:
            if since < CLOSED_WITHIN:
                raise
            why = f"it cannot be closed: {error}"
        if why is not None:
            # From then on no other manager shuts it down.
            wake(self.service, self.host)
            self._call_off(why)
        elif stop(self.service, self.host, self.sleep, self._watts()):
            self.power.shut_down(self.machine.address)
            SWITCHED.labels(self.machine_class.name, "off").inc()
        elif not self._lasts():
            # Another manager has called it off, and may have opened the host before it was closed here.
            self._open()

    def _lasts(self) -> bool:
        with self.service.db.reading() as connection:
            return self.host.number in open_sleeps(connection, self.host.number)

    def _watts(self) -> float | None:
        try:
            return self.power.watts(self.machine.address)
        except PowerError as error:
            log.debug("%s does not tell what it consumes: %s", self.label, error)
            return None

    def _call_off(self, why: str) -> None:
        self._open()
        ready(self.service, self.host, self.sleep, Outcome.CALLED_OFF)
        log.info("%s stays on: %s.", self.label, why)

    def _stop(self) -> None:
        """Wait until the machine is off; it is switched off when its time to shut down is over."""
        now, stopped_at = self.service.now(), self.sleep.stopped_at or self.sleep.decided_at
        late = now - stopped_at - self.machine_class.shut_down
        try:
            if not self.power.is_on(self.machine.address):
                self._is_off(now, late)
            elif late >= OFF_WITHIN:
                self._give_up("It stays on, whatever it is told.")
            elif late >= timedelta(0):
                self._take_power()
        except PowerError as error:
            if late < OFF_WITHIN:
                raise
            self._give_up(str(error))

    def _take_power(self) -> None:
        """Take the power from a machine, if nothing runs on its host: somebody may have opened it by hand."""
        users = self.host.driver.close(self.service.cloud, self.host.resource.attributes)
        if users is None:
            self.power.switch_off(self.machine.address)
        else:
            self._give_up(f"It has {users}.")

    def _is_off(self, now: datetime, late: timedelta) -> None:
        """Record that the machine is off: from now on it takes less time to wake it up.

        Its host has to be down as well. If that goes on, its address is that of another machine, which was on.
        """
        report = self.host.driver.report(self.service.cloud, self.host.resource.attributes)
        if not report.up:
            expect(self.service, self.host, self.sleep, self.takes, off_at=now, reported_at=report.at)
        elif late >= QUIET_WITHIN:
            self.power.switch_on(self.machine.address)
            log.critical(
                "The address of %s switches another machine, which was off: it is switched on again.", self.label
            )
            self._give_up("Its address switches another machine.")

    def _give_up(self, why: str) -> None:
        """Let a machine be that cannot be switched off: it is on, and its host is opened again."""
        reason = f"It could not be switched off: {why}"
        self.service.db.transact(partial(distrust, number=self.host.number, reason=reason, now=self.service.now()))
        FAILED.labels(self.machine_class.name).inc()
        self._call_off(reason)

    def _wake(self) -> None:
        """Switch the machine on, and open its host when that has reported anew."""
        attributes = self.host.resource.attributes
        report = self.host.driver.report(self.service.cloud, attributes)
        anew = report.at is not None and (self.sleep.reported_at is None or report.at > self.sleep.reported_at)
        if report.up and anew:
            self._open()
            self._is_ready()
            return
        now = self.service.now()
        tried = now - (self.sleep.cycled_at or self.sleep.boots_since or now)
        if self.sleep.stage is Stage.FAILED:
            return
        if tried > self.sleep.takes:
            self._again(now)
        elif not self.power.is_on(self.machine.address):
            self.power.switch_on(self.machine.address)
            SWITCHED.labels(self.machine_class.name, "on").inc()

    def _again(self, now: datetime) -> None:
        """Take the power from a machine that has not come up, once; after that it has failed."""
        if self.sleep.cycled_at is None:
            self._note(cycled_at=now)
            log.warning("%s has not come up in time: it is switched off and on again.", self.label)
            self._take_power()
            return
        seconds = int((now - (self.sleep.woken_at or now)).total_seconds())
        reason = f"It has not come up within {seconds} seconds, {self._tried()}"
        log.error("%s is not trusted any more, and its leases get other hosts. %s", self.label, reason)
        fail(self.service, self.host, self.sleep, reason)
        heal_leases(self.service)
        FAILED.labels(self.machine_class.name).inc()

    def _tried(self) -> str:
        """Return what did not help, as the end of a sentence."""
        try:
            self.power.is_on(self.machine.address)
        except PowerError as error:
            return f"and cannot be switched: {error}"
        again = self.sleep.cycled_at != self.sleep.woken_at
        return "although it was switched off and on again." if again else "although it was switched on."

    def _is_ready(self) -> None:
        late = ready(self.service, self.host, self.sleep, Outcome.READY)
        if late:
            LATE.inc(late)
            log.error("%s was not ready in time: %s leases started late.", self.label, late)
        else:
            log.info("%s is awake.", self.label)

    def _open(self) -> None:
        self.host.driver.reopen(self.service.cloud, self.host.resource.attributes)

    def _note(self, **values: object) -> None:
        self.service.db.transact(partial(_change, self.sleep.id, values))


def _change(ident: int, values: Mapping[str, object], connection: Connection) -> None:
    change_sleep(connection, ident, **values)
