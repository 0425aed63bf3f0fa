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
        # A receipt says that the first of two factors was right. By default its keys are those of the tokens, too.
        "fernet_receipts": {"key_repository": site.home.data / "fernet"},
        # Those of the console's form; the passcode is not among Keystone's defaults.
        "auth": {"methods": "password,token,application_credential,totp"},
        "credential": {"key_repository": site.home.data / "credential"},
        # Passwords need no protection here, and each check would otherwise take a third of a second.
        "identity": {"password_hash_rounds": 4},
        "cache": cache(site),
        "oslo_messaging_notifications": {"driver": "noop"},
    }
