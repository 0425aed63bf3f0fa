"""Blazar's own acceptance tests, unmodified, against the reservation service in the catalogue.

    results = run(cloud, "api")
    assert not results.failed, results.report()

From a shell, with a cloud that runs: `python -m tests.openstack.tempest api | scenario | REGEX`.
"""

from tests.openstack.tempest.results import Case, Results
from tests.openstack.tempest.runner import run

__all__ = ["Case", "Results", "run"]
