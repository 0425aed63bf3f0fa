"""Cinder in one process: its API, its scheduler, and volume services that keep volumes of nothing.

Run as a program, with the arguments of Cinder's own programs; the driver is `__main__.NothingDriver` then.
"""

# ruff: noqa: E402 - as in Cinder's own programs, everything else is imported after the call below
from __future__ import annotations

import eventlet

eventlet.monkey_patch()

import sys
from typing import Any

from cinder import coordination, objects, rpc, service, version
from cinder.cmd import volume
from cinder.common import config, constants
from cinder.volume import driver
from oslo_config import cfg
from oslo_log import log
from oslo_service.service import ServiceLauncher

_STATS = {"vendor_name": "Leasehold", "driver_version": "1", "storage_protocol": "none", "reserved_percentage": 0}


class NothingDriver(driver.VolumeDriver):  # type: ignore[misc]
    """Makes volumes, snapshots and groups of nothing."""

    VERSION = "1"

    def _update_volume_stats(self) -> None:
        name, room = self.configuration.volume_backend_name, "infinite"
        self._stats = {**_STATS, "volume_backend_name": name, "total_capacity_gb": room, "free_capacity_gb": room}

    def create_group(self, _context: Any, _group: Any) -> dict[str, str]:
        return {"status": "available"}

    def delete_group(self, _context: Any, _group: Any, _volumes: Any) -> tuple[dict[str, str], list[Any]]:
        return {"status": "deleted"}, []

    def _nothing(self, *_args: Any, **_kwargs: Any) -> None:
        pass

    check_for_setup_error = create_volume = delete_volume = create_snapshot = delete_snapshot = _nothing
    ensure_export = create_export = remove_export = initialize_connection = terminate_connection = _nothing


class Reporting(service.Service):  # type: ignore[misc]
    """A service beside others in one process: the class says for which one of them it reports."""

    def report_state(self) -> None:
        service.Service.service_id = self.origin_service_id
        super().report_state()


def main() -> None:
    conf = cfg.CONF
    objects.register_all()
    conf(sys.argv[1:], project="cinder", version=version.version_string())
    log.setup(conf, "cinder")
    config.set_middleware_defaults()
    coordination.COORDINATOR.start()
    rpc.init(conf)
    launcher = ServiceLauncher(conf)
    launcher.launch_service(Reporting.create(binary=constants.SCHEDULER_BINARY))
    for name in conf.enabled_backends:
        conf.register_opt(volume.host_opt, group=name)
        host = f"{conf[name].backend_host}@{name}"
        made = Reporting.create(host=host, service_name=name, binary=constants.VOLUME_BINARY, coordination=True)
        launcher.launch_service(made)
    launcher.launch_service(service.WSGIService("osapi_volume"))
    launcher.wait()


if __name__ == "__main__":
    main()
