"""A real OpenStack on one machine: real services, database and broker, with fake hypervisors.

    cloud = start(find_home())
    cloud.connection("demo").compute.servers()
    stop(find_home())

From a shell: `python -m tests.openstack.cloud start`.
"""

from tests.openstack.cloud.errors import CloudError
from tests.openstack.cloud.home import find_home
from tests.openstack.cloud.lifecycle import having_cloud, running, start, stop, wipe
from tests.openstack.cloud.running import RunningCloud

__all__ = [
    "CloudError",
    "RunningCloud",
    "find_home",
    "having_cloud",
    "running",
    "start",
    "stop",
    "wipe",
]
