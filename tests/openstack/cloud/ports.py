"""Chooses a free port for every server; a server keeps its port across starts as long as it is free."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

from tests.openstack.cloud.errors import CloudError
from tests.servers.ports import is_free

if TYPE_CHECKING:
    from collections.abc import Mapping

WEB = ("keystone", "placement", "glance", "nova-api", "neutron")
NAMES = ("mariadb", "epmd", "rabbitmq", "rabbitmq-dist", "memcached", *WEB)

# Below the kernel's range for outgoing connections, of which our own services make many before the last server has its
# port. The choice is random, so that two clouds that start at the same time hardly ever choose the same port.
_FIRST, _LAST = 20000, 32000


def choose(previous: Mapping[str, int]) -> dict[str, int]:
    """Return a port for each server: the previous one where it is still free, another where it is not."""
    chosen = {name: port for name, port in previous.items() if name in NAMES and is_free(port)}
    candidates = random.SystemRandom().sample(range(_FIRST, _LAST), 1000)
    for name in NAMES:
        if name not in chosen:
            chosen[name] = next((port for port in candidates if port not in chosen.values() and is_free(port)), 0)
            if chosen[name] == 0:
                raise CloudError(f"No port between {_FIRST} and {_LAST} is free. Stop what listens there.")
    return chosen
