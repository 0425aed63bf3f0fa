"""Which cloud a test uses, and how long it may wait for it.

Not in `tests.openstack.cloud`, whose import takes half a second.
"""

READY_WITHIN = 900
"""Seconds that the first test may wait for the cloud, which may have to be installed first."""


def cloud_number(worker_id: str) -> int:
    """Return the number of the cloud on which a worker's tests run: each has its own, and without workers it is 0."""
    return int(worker_id.removeprefix("gw")) if worker_id.startswith("gw") else 0
