"""Keystone's configuration."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.openstack.cloud.configuration.common import Sections, cache, database

if TYPE_CHECKING:
    from tests.openstack.cloud.layout import Site


def keystone(site: Site) -> Sections:
    return {
        "DEFAULT": {"public_endpoint": site.auth_url.removesuffix("/v3")},
        "database": database(site, "keystone"),
        "token": {"provider": "fernet", "expiration": 86400},
        "fernet_tokens": {"key_repository": site.home.data / "fernet"},
        "credential": {"key_repository": site.home.data / "credential"},
        # Passwords need no protection here, and each check would otherwise take a third of a second.
        "identity": {"password_hash_rounds": 4},
        "cache": cache(site),
        "oslo_messaging_notifications": {"driver": "noop"},
    }
