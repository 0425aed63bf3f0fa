"""API processes share a database, and one order explains what their clients were told; on SQLite there is one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.databases import ON_EACH, Databases, database
from tests.harness.history import check_one_order, site_of

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.slow

PROCESSES = {"sqlite": 1}
"""API processes by the kind of database; else three."""


@pytest.mark.parametrize("kind", ON_EACH)
def test_one_order_explains_what_all_clients_were_told(kind: str, tmp_path: Path, databases: Databases) -> None:
    with database(databases, kind, tmp_path) as url, site_of([url], PROCESSES.get(kind, 3)) as site:
        check_one_order(site)
