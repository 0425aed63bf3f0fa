"""The cloud's folder: one per machine, outside the checkout."""

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
    root: Path

    @property
    def venvs(self) -> Path:
        return self.root / "venv"

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


def find_home() -> Home:
    named = os.environ.get("LEASEHOLD_CLOUD")
    return Home(Path(named).absolute() if named else Path.home() / ".cache" / "leasehold" / "openstack")
