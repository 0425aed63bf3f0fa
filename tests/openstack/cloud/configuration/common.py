"""What the configuration files of several services have in common."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from tests.openstack.cloud.home import PASSWORD, REGION

if TYPE_CHECKING:
    from pathlib import Path

    from tests.openstack.cloud.layout import Site

Values = Mapping[str, object]
Sections = Mapping[str, Values]


def write(file: Path, sections: Sections) -> None:
    """Write a file for oslo.config; an option whose value is a list gets one line for each item."""
    lines: list[str] = []
    for section, values in sections.items():
        lines.append(f"[{section}]")
        for name, value in values.items():
            items = value if isinstance(value, list) else [value]
            lines += [f"{name} = {_as_text(item)}" for item in items]
        lines.append("")
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("\n".join(lines))


def _as_text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def database(site: Site, name: str) -> Values:
    return {
        "connection": site.database_url(name),
        # Below MariaDB's timeout for idle connections.
        "connection_recycle_time": 280,
        "max_pool_size": 10,
        "max_overflow": 20,
    }


def account(site: Site, user: str) -> Values:
    """Return the options with which a service logs in to Keystone."""
    return {
        "auth_type": "password",
        "auth_url": site.auth_url,
        "username": user,
        "password": PASSWORD,
        "project_name": "service",
        "user_domain_name": "Default",
        "project_domain_name": "Default",
        "region_name": REGION,
    }


def token_check(site: Site, user: str) -> Values:
    """Return the options with which a service validates its callers' tokens."""
    return {
        "www_authenticate_uri": site.auth_url,
        "memcached_servers": site.address("memcached"),
        **account(site, user),
    }


def cache(site: Site) -> Values:
    return {
        "enabled": True,
        "backend": "dogpile.cache.pymemcache",
        "memcache_servers": site.address("memcached"),
    }


def messaging(site: Site, name: str) -> dict[str, Values]:
    """Return the sections of every service whose processes communicate through the broker."""
    state = site.home.data / name
    return {
        "DEFAULT": {"transport_url": site.broker_url, "state_path": state},
        "oslo_concurrency": {"lock_path": state / "locks"},
        # Nothing reads them, so their queue would only grow; what leasehold-bridge listens to has `NOTIFYING`.
        "oslo_messaging_notifications": {"driver": "noop"},
    }


NOTIFYING: dict[str, Values] = {"oslo_messaging_notifications": {"driver": "messagingv2"}}
"""The section of a service that notifies of what happens in it."""
