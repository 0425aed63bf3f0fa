"""The scenes in which programs are killed: the state before, the program's work, and the required end state.

Each scene has one lease with reservations of all four types.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Protocol

from leasehold.leasing.amend import amend_lease
from leasehold.leasing.create import create_lease
from leasehold.leasing.delete import delete_lease
from leasehold.leasing.queries import list_leases
from leasehold.model.draft import LeaseChanges, LeaseDraft
from tests.factory import DEMO, run_manager
from tests.fault.mixed import boot_in, is_warned, more_of, wishes

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from leasehold.model.lease import Lease
    from tests.factory import World
    from tests.fault.program import Launched
    from tests.fault.stage import Stage

NAME = "lease"
HOUR = timedelta(hours=1)


class Scene(Protocol):
    """Work of a program during which the program is killed."""

    @property
    def name(self) -> str:
        """The scene's name in the table."""

    @property
    def program(self) -> str:
        """The program that is killed."""

    @property
    def options(self) -> Mapping[str, Mapping[str, object]]:
        """The program's extra options by section, in addition to those of all scenes."""

    def set_up(self, stage: Stage) -> None:
        """Create the state before the program starts."""

    def act(self, stage: Stage, program: Launched) -> None:
        """Let the program do all the work, and wait until it finished."""

    def begin(self, stage: Stage, program: Launched) -> Any:
        """Let the program start the work; the return value is passed to `finish`."""

    def finish(self, stage: Stage, begun: Any, others: Sequence[Launched]) -> float:
        """Wait until the state is correct, check the client's answer, and return the seconds it took."""


@dataclass(frozen=True, slots=True)
class ManagerScene:
    """Work that a manager does unprompted; `right(world)` tells whether the lease matches the database."""

    name: str
    setting: Callable[[Stage], object]
    right: Callable[[World], bool]
    options: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    program: str = "leasehold-manager"

    def set_up(self, stage: Stage) -> None:
        """Create the state before the manager starts."""
        self.setting(stage)

    def act(self, stage: Stage, program: Launched) -> None:
        """Wait until the manager finished its work."""
        self.finish(stage, None, [program])
        stage.check()

    def begin(self, stage: Stage, program: Launched) -> None:
        """Do nothing: the manager starts the work itself."""

    def finish(self, stage: Stage, begun: None, others: Sequence[Launched]) -> float:
        """Wait until the lease reaches its required state."""
        return stage.wait_until(self.right)


def lease_of(world: World) -> Lease | None:
    """Return the lease of the scene, or None after its deletion."""
    found = list_leases(world.service, None)
    assert len(found) <= 1, found
    return found[0] if found else None


def grant(stage: Stage, *, start: timedelta, end: timedelta, before_end: timedelta | None = None) -> Lease:
    """Grant the lease; the times are relative to the stage's present."""
    now = stage.world.now().replace(microsecond=0)
    warning = None if before_end is None else now + before_end
    draft = LeaseDraft(NAME, now + start, now + end, warning, wishes(), fingerprint="a")
    return create_lease(stage.world.service, DEMO, draft)


def _past(stage: Stage, age: timedelta) -> None:
    """Set the clock back by `age`, so that the next actions happen in the past."""
    stage.clock.behind = age


def _present(stage: Stage) -> None:
    stage.clock.behind = timedelta(0)


def _pending(stage: Stage) -> None:
    grant(stage, start=HOUR, end=5 * HOUR)


def _prepared(stage: Stage) -> Lease:
    lease = grant(stage, start=HOUR, end=5 * HOUR)
    run_manager(stage.world)
    return lease


def _due(stage: Stage) -> None:
    _past(stage, 2 * HOUR)
    _prepared(stage)
    _present(stage)


def _due_at_once(stage: Stage) -> None:
    grant(stage, start=timedelta(0), end=5 * HOUR)


def active(stage: Stage, before_end: timedelta | None = None) -> Lease:
    """Start the lease an hour ago, for five hours, and boot servers in it."""
    _past(stage, HOUR)
    lease = grant(stage, start=timedelta(0), end=5 * HOUR, before_end=before_end)
    run_manager(stage.world)
    assert is_active(stage.world), lease_of(stage.world)
    boot_in(stage.world, lease)
    _present(stage)
    return lease


def _amended(stage: Stage) -> None:
    """Request more of everything an active lease may grow, and a later end."""
    lease = active(stage)
    changes = LeaseChanges(end=lease.window.end + HOUR, reservations=more_of(lease))
    amend_lease(stage.world.service, lease.id, changes)


def _failed(stage: Stage) -> None:
    """Break the host of the host reservation; no manager has noticed it yet."""
    lease = active(stage)
    (label,) = stage.world.holds(lease)
    stage.world.cloud.hypervisors.fail(label)


def _ending(stage: Stage) -> None:
    active(stage)
    lease = lease_of(stage.world)
    assert lease is not None
    now = stage.world.now()
    amend_lease(stage.world.service, lease.id, LeaseChanges(end=now))


def _deleting(stage: Stage) -> None:
    delete_lease(stage.world.service, active(stage).id)


def _warning(stage: Stage) -> None:
    active(stage, before_end=HOUR / 2)


def _is(status: str) -> Callable[[World], bool]:
    def right(world: World) -> bool:
        lease = lease_of(world)
        return lease is not None and lease.status == status

    return right


def is_gone(world: World) -> bool:
    return lease_of(world) is None


def _healed(world: World) -> bool:
    lease = lease_of(world)
    return lease is not None and lease.status == "ACTIVE" and lease.degraded


def _warned(world: World) -> bool:
    lease = lease_of(world)
    return lease is not None and is_warned(world, lease)


is_active = _is("ACTIVE")

MANAGER_SCENES = (
    ManagerScene("prepare", _pending, _is("PENDING")),
    ManagerScene("start", _due, is_active),
    ManagerScene("start now", _due_at_once, is_active),
    ManagerScene("amend", _amended, is_active),
    ManagerScene("heal", _failed, _healed, {"physical:host": {"polling_interval": 1, "failure_grace": 0}}),
    ManagerScene("before_end", _warning, _warned),
    ManagerScene("end", _ending, _is("TERMINATED")),
    ManagerScene("delete", _deleting, is_gone),
)
