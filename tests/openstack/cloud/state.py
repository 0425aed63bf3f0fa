"""The state file: what a start stores for the next start, and for users of the running cloud."""

from __future__ import annotations

import contextlib
import fcntl
import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tests.openstack.cloud.errors import CloudError
from tests.openstack.cloud.home import CHECKOUT

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tests.openstack.cloud.home import Home


@dataclass(frozen=True, slots=True)
class Started:
    """How the cloud was started last."""

    checkout: Path
    venv: Path
    ports: Mapping[str, int]

    def check_owner(self, home: Home) -> None:
        """Raise CloudError when another checkout has started the cloud: it runs that checkout's filter and plugins."""
        if self.checkout != CHECKOUT:
            raise CloudError(
                f"The cloud in {home.root} belongs to the checkout {self.checkout}. Stop it there with "
                "`make cloud-stop`, or start a separate one: set LEASEHOLD_CLOUD to another folder."
            )


def read(home: Home) -> Started | None:
    try:
        values = json.loads(home.state.read_text())
    except FileNotFoundError:
        return None
    return Started(Path(values["checkout"]), Path(values["venv"]), values["ports"])


def write(home: Home, venv: Path, ports: Mapping[str, int]) -> None:
    values = {"checkout": str(CHECKOUT), "venv": str(venv), "ports": dict(ports)}
    # Atomically, because other processes read it without a lock.
    draft = home.state.with_suffix(".new")
    draft.write_text(json.dumps(values, indent=2))
    draft.replace(home.state)


@contextlib.contextmanager
def only_one(folder: Path) -> Iterator[None]:
    """Let one caller at a time change what is in the folder; other callers wait."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("wb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
