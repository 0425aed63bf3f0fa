"""The folder of a cloud, outside the checkout: one per machine, and others beside it for tests that run in parallel."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[3]
REQUIREMENTS = CHECKOUT / "tests" / "openstack" / "requirements"
PLUGINS = CHECKOUT / "tests" / "openstack" / "cloud" / "plugins"
FILTER = CHECKOUT / "nova-filter"

COMPUTES = tuple(f"compute{number}" for number in range(1, 6))
REGION = "RegionOne"
# Of every account. All services listen on the loopback interface only and hold only test data.
PASSWORD = "leasehold-cloud"


@dataclass(frozen=True, slots=True)
class Home:
    """A cloud's folder, and `venvs`, the folder of what is installed, which clouds share."""

    root: Path
    venvs: Path

    @property
    def templates(self) -> Path:
        """Copies of data directories right after the first seeding, one for each set of versions."""
        return self.root / "template"

    @property
    def data(self) -> Path:
        return self.root / "data"

    @property
    def etc(self) -> Path:
        return self.root / "etc"

    @property
    def log(self) -> Path:
        return self.root / "log"

    @property
    def run(self) -> Path:
        return self.root / "run"

    @property
    def state(self) -> Path:
        return self.root / "state.json"

    @property
    def socket(self) -> Path:
        """The socket on which MariaDB listens beside its port."""
        return self.run / "mariadb.socket"


def find_home(number: int = 0) -> Home:
    """Return the folder of the cloud with this number; 0 is the one that `make cloud` starts."""
    named = os.environ.get("LEASEHOLD_CLOUD")
    first = Path(named).absolute() if named else Path.home() / ".cache" / "leasehold" / "openstack"
    return Home(first.with_name(f"{first.name}-{number}") if number else first, first / "venv")
