"""The plugin of OpenStack's command line: which commands it gets, and how they reach the service.

Its module, its API name and its option are not those of Blazar's client, so that both can be installed (decision 0066).
"""

from __future__ import annotations

from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Any

from leasehold_client.client import Client

if TYPE_CHECKING:
    import argparse

API_NAME = "leasehold"
API_VERSION_OPTION = "os_leasehold_api_version"
DEFAULT_API_VERSION = "1"
API_VERSIONS = ("1",)
_BLAZARS_GROUP = "openstack.reservation.v1"

# The groups of commands beyond `openstack.leasehold.v1`. Two commands of one name make every run of `openstack` warn,
# so ours with Blazar's names are there only where Blazar's client is not.
API_EXTENSIONS = () if entry_points(group=_BLAZARS_GROUP) else ("blazars_names",)


def make_client(manager: Any) -> Client:
    """Return the client; `manager` is OpenStack's client manager."""
    return Client(manager.session, region=manager.region_name or None, interface=manager.interface or None)


def build_option_parser(parser: argparse.ArgumentParser) -> argparse.ArgumentParser:
    """Add the option that every plugin has."""
    parser.add_argument(
        "--os-leasehold-api-version",
        metavar="<version>",
        default=None,
        help="API version of the reservation service for Leasehold's commands, 1 (the default)",
    )
    return parser
