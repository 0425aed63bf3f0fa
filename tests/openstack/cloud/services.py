"""Every process of the cloud: how to start it, and how to check that it is ready."""

from __future__ import annotations

import contextlib
import getpass
import socket
from dataclasses import dataclass, field
from http import HTTPStatus
from http.client import HTTPConnection, HTTPException
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from tests.openstack.cloud import databases
from tests.openstack.cloud.home import COMPUTES
from tests.openstack.cloud.install import RABBITMQ, find_servers

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tests.openstack.cloud.layout import Site


@dataclass(frozen=True, slots=True)
class Service:
    name: str
    command: tuple[str, ...]
    # Whether it is ready. A service without a port always is: Nova tells when it has reported.
    ready: Callable[[], bool] = lambda: True
    extra_environment: Mapping[str, str] = field(default_factory=dict)


def environment(site: Site) -> dict[str, str]:
    """Return the environment of every process, without any of the caller's own settings."""
    return {
        "PATH": f"{site.venv / 'bin'}:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
        "HOME": str(site.home.data),
        "LC_ALL": "C.UTF-8",
        "PYTHONUNBUFFERED": "1",
    }


def infrastructure(site: Site) -> list[Service]:
    """Return the services that must run before OpenStack starts."""
    return [_mariadb(site), _epmd(site), _rabbitmq(site), _memcached(site)]


def openstack(site: Site) -> list[Service]:
    etc = site.home.etc
    nova_conf = ("--config-file", str(etc / "nova" / "nova.conf"))
    keystone = {"OS_KEYSTONE_CONFIG_DIR": str(etc / "keystone"), "OS_KEYSTONE_CONFIG_FILES": "keystone.conf"}
    neutron = {"OS_NEUTRON_CONFIG_DIR": str(etc / "neutron"), "OS_NEUTRON_CONFIG_FILES": "neutron.conf;ml2_conf.ini"}
    return [
        _web(site, "keystone", "keystone.wsgi.api", 2, keystone),
        _web(site, "neutron", "neutron.wsgi.api", 2, neutron),
        _web(site, "nova-api", "nova.wsgi.osapi_compute", 2, {"OS_NOVA_CONFIG_DIR": str(etc / "nova")}),
        _web(site, "placement", "placement.wsgi.api", 2, {"OS_PLACEMENT_CONFIG_DIR": str(etc / "placement")}),
        _web(site, "glance", "glance.wsgi.api", 1, {"OS_GLANCE_CONFIG_DIR": str(etc / "glance")}),
        Service("nova-conductor", (site.program("nova-conductor"), *nova_conf)),
        Service("nova-scheduler", (site.program("nova-scheduler"), *nova_conf)),
        *(
            Service(
                name, (site.program("nova-compute"), *nova_conf, "--config-file", str(etc / "nova" / f"{name}.conf"))
            )
            for name in COMPUTES
        ),
    ]


def _web(site: Site, name: str, module: str, workers: int, extra_environment: Mapping[str, str]) -> Service:
    command = (
        site.program("uwsgi"),
        *("--http-socket", site.address(name), "--module", module, "--callable", "application"),
        *("--master", "--processes", str(workers), "--enable-threads", "--lazy-apps", "--need-app", "--die-on-term"),
        *("--buffer-size", "65535", "--listen", "100", "--add-header", "Connection: close"),
        *("--procname-prefix", f"{name}-", "--log-master"),
    )
    url = f"http://{site.address(name)}/"
    return Service(name, command, lambda: _serves(url), extra_environment)


def _serves(url: str) -> bool:
    parts = urlsplit(url)
    # No library that pools connections: an unanswered connection must be closed at once.
    with contextlib.closing(HTTPConnection(parts.hostname or "", parts.port, timeout=5)) as connection:
        try:
            connection.request("GET", parts.path or "/")
            # Any answer will do: some services require a token even for the list of their versions.
            return connection.getresponse().status < HTTPStatus.INTERNAL_SERVER_ERROR
        except (OSError, HTTPException):
            return False


def _mariadb(site: Site) -> Service:
    data = site.home.data / "mariadb"
    command = (
        find_servers()["mariadbd"],
        "--no-defaults",
        # Every server runs as the user who started the cloud; if that is root, MariaDB requires this option.
        f"--user={getpass.getuser()}",
        f"--datadir={data}",
        f"--socket={site.home.socket}",
        f"--pid-file={data / 'pid'}",
        "--bind-address=127.0.0.1",
        f"--port={site.ports['mariadb']}",
        "--skip-name-resolve",
        "--max-connections=600",
        "--innodb-buffer-pool-size=512M",
        # Its accounts must not read or write other files of that user.
        f"--secure-file-priv={data}",
        # No durability: a failure of this machine loses only a test.
        *("--innodb-flush-log-at-trx-commit=0", "--innodb-doublewrite=0", "--skip-log-bin"),
    )
    return Service("mariadb", command, lambda: databases.answers(site.home))


def _epmd(site: Site) -> Service:
    # Erlang's registry of nodes. RabbitMQ would start one itself, and leave it running.
    port = site.ports["epmd"]
    command = (find_servers()["epmd"], "-address", "127.0.0.1", "-port", str(port))
    return Service("epmd", command, lambda: _connects(port))


def _rabbitmq(site: Site) -> Service:
    folder = site.home.data / "rabbitmq"
    extra = {
        "HOME": str(folder),
        "ERL_EPMD_PORT": str(site.ports["epmd"]),
        "ERL_EPMD_ADDRESS": "127.0.0.1",
        "ERL_CRASH_DUMP": str(site.home.log / "rabbitmq-crash.dump"),
        "RABBITMQ_NODENAME": "leasehold@localhost",
        "RABBITMQ_NODE_IP_ADDRESS": "127.0.0.1",
        "RABBITMQ_NODE_PORT": str(site.ports["rabbitmq"]),
        "RABBITMQ_DIST_PORT": str(site.ports["rabbitmq-dist"]),
        # Erlang's schedulers would spin for a while whenever they have no work, which others need the processor for.
        "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": "-kernel inet_dist_use_interface {127,0,0,1} +sbwt none +sbwtdcpu none "
        "+sbwtdio none",
        "RABBITMQ_MNESIA_BASE": str(folder),
        "RABBITMQ_LOG_BASE": str(site.home.log),
        # Neither file exists, so the settings of the system's own broker have no effect.
        "RABBITMQ_CONFIG_FILE": str(folder / "none"),
        "RABBITMQ_CONF_ENV_FILE": str(folder / "none"),
        "RABBITMQ_ENABLED_PLUGINS_FILE": str(folder / "enabled_plugins"),
        # With both, the script becomes the broker, which can then be stopped by its process id.
        "RABBITMQ_ALLOW_INPUT": "true",
        "RABBITMQ_SERVER_START_ARGS": "-noinput",
    }
    return Service("rabbitmq", (RABBITMQ,), lambda: _speaks(site.ports["rabbitmq"], b"AMQP\0\0\x09\x01"), extra)


def _memcached(site: Site) -> Service:
    port = site.ports["memcached"]
    command = (find_servers()["memcached"], "-u", getpass.getuser(), "-l", "127.0.0.1", "-p", str(port), "-m", "64")
    return Service("memcached", command, lambda: _speaks(port, b"version\r\n"))


def _connects(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=5).close()
    except OSError:
        return False
    return True


def _speaks(port: int, greeting: bytes) -> bool:
    """Return whether a server on this port answers the greeting of its protocol."""
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=5) as connection:
            connection.sendall(greeting)
            return connection.recv(1) != b""
    except OSError:
        return False
