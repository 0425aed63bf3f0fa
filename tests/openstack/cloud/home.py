"""Where everything of the cloud is kept: one folder per machine, outside the checkout."""

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
# One for every account. All of it listens on the loopback interface alone and lives as long as a test.
PASSWORD = "leasehold-cloud"


@dataclass(frozen=True, slots=True)
class Home:
    root: Path

    @property
    def venvs(self) -> Path:
        return self.root / "venv"

    @property
    def templates(self) -> Path:
        """Data directories as they are just after the first seeding, one for each set of versions."""
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
        """Where MariaDB listens besides its port."""
        return self.run / "mariadb.socket"


def find_home() -> Home:
    named = os.environ.get("LEASEHOLD_CLOUD")
    return Home(Path(named).absolute() if named else Path.home() / ".cache" / "leasehold" / "openstack")
