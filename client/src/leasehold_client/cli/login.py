"""How `leasehold` logs in: with a cloud of clouds.yaml, or with the options and environment of keystoneauth."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from keystoneauth1 import loading
from keystoneauth1.exceptions import ClientException
from keystoneauth1.noauth import NoAuth

from leasehold_client.client import Client
from leasehold_client.errors import UnreachableError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping, Sequence

    from keystoneauth1.session import Session

NOWHERE = (
    "Say where the service is: export OS_AUTH_TYPE=none OS_ENDPOINT=http://127.0.0.1:1234/v1 for one without passwords,"
    " OS_AUTH_TYPE=http_basic with OS_USERNAME and OS_PASSWORD for one with passwords, or OS_CLOUD=NAME for a cloud of"
    " clouds.yaml."
)

_CLAIMS: Mapping[str, str] = {"project_id": "X-Project-Id", "username": "X-User-Id", "roles": "X-Roles"}
"""What a service without passwords believes: the options and variables, and the headers that say it."""


def add_login(parser: argparse.ArgumentParser, argv: Sequence[str]) -> None:
    """Add the options of the login; each way to log in has its own, and `argv` or the environment say which it is."""
    env = os.environ
    parser.add_argument("--os-cloud", default=env.get("OS_CLOUD"), metavar="<name>", help="a cloud of clouds.yaml")
    parser.add_argument("--os-region-name", default=env.get("OS_REGION_NAME"), metavar="<name>", help="the region")
    parser.add_argument(
        "--os-interface", default=env.get("OS_INTERFACE", "public"), metavar="<name>", help="public, internal or admin"
    )
    parser.add_argument(
        "--os-endpoint-override", default=env.get("OS_ENDPOINT_OVERRIDE"), metavar="<url>", help="URL of the service"
    )
    loading.register_session_argparse_arguments(parser)
    plugin: Any = loading.register_auth_argparse_arguments(parser, list(argv), default=_default(env, argv))
    # Every other way to log in has its own options of these names.
    for name in _CLAIMS if plugin is not None and plugin.plugin_class is NoAuth else ():
        parser.add_argument(
            f"--os-{name.replace('_', '-')}",
            default=env.get(f"OS_{name.upper()}"),
            metavar="<text>",
            help=f"where no password is asked for: be somebody with this {name.replace('_', ' ')}",
        )


def _default(environ: Mapping[str, str], argv: Sequence[str]) -> str | None:
    """Return the way to log in that the environment suggests where it names none."""
    if environ.get("OS_AUTH_URL"):
        return "password"
    if environ.get("OS_ENDPOINT"):
        password = environ.get("OS_PASSWORD") or any(word.startswith("--os-password") for word in argv)
        return "http_basic" if password else "none"
    return None


def log_in(options: argparse.Namespace) -> Client:
    """Return a client that is configured by these options; it logs in at its first request."""
    try:
        if options.os_cloud:
            return _of_cloud(options)
        plugin: Any = loading.load_auth_from_argparse_arguments(options)
        if plugin is None:
            raise UnreachableError(NOWHERE)
        session = loading.load_session_from_argparse_arguments(options, auth=plugin)
        claimed = {header: getattr(options, f"os_{name}", None) for name, header in _CLAIMS.items()}
        if isinstance(plugin, NoAuth):
            session.additional_headers.update({header: value for header, value in claimed.items() if value})
    except ClientException as error:
        raise UnreachableError(f"The login is not complete: {error}") from None
    return _client(session, options, options.os_endpoint_override, options.os_region_name)


def _of_cloud(options: argparse.Namespace) -> Client:
    # It takes most of a second to import, and only who has a clouds.yaml needs it.
    from openstack.config import OpenStackConfig  # noqa: PLC0415 - see above.
    from openstack.exceptions import ConfigException  # noqa: PLC0415 - see above.

    try:
        cloud = OpenStackConfig().get_one(options.os_cloud)
        endpoint: str | None = options.os_endpoint_override or cloud.get_endpoint("reservation")
        return _client(cloud.get_session(), options, endpoint, options.os_region_name or cloud.region_name)
    except ConfigException as error:
        raise UnreachableError(f"The cloud cannot be used: {error}") from None


def _client(session: Any, options: argparse.Namespace, endpoint: str | None, region: str | None) -> Client:
    typed: Session = session
    return Client(typed, endpoint=endpoint, region=region, interface=options.os_interface)
