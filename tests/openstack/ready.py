"""How long a test may wait for the cloud. Not in `tests.openstack.cloud`, whose import takes half a second."""

READY_WITHIN = 900
"""Seconds that the first test may wait for the cloud, which may have to be installed first."""
