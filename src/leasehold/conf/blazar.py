"""Finds the options of an existing `blazar.conf` that have no effect here, so that the log can warn of them.

Options that both services have keep their names here and need no table (contract lifecycle §11).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from oslo_config import cfg

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_NO_RPC = "there is no message queue between API and manager"
_NO_V2 = "the deprecated v2 API is not served"
_ASKED = "Keystone's API v3 and fixed microversions are used"
_CATALOGUE = "the catalogue's usual service types are used; endpoint_override of the service's section names another"
_OWN_POOL = "Leasehold sizes its pool of connections by its threads"

MEANINGLESS: Mapping[tuple[str, str], str] = {
    ("DEFAULT", "db_driver"): "there is only one driver",
    ("DEFAULT", "enable_v1_api"): "v1 is always served",
    ("DEFAULT", "executor_thread_pool_size"): _NO_RPC,
    ("DEFAULT", "identity_service"): _CATALOGUE,
    ("DEFAULT", "keystone_client_version"): _ASKED,
    ("DEFAULT", "log_exchange"): "requests are not dumped, because they may hold secrets",
    ("DEFAULT", "rpc_response_timeout"): _NO_RPC,
    ("DEFAULT", "state_path"): "everything is kept in the database",
    ("api", "api_v2_controllers"): _NO_V2,
    ("database", "*"): _OWN_POOL,
    ("manager", "event_max_retries"): "work that fails is tried again as long as the lease's window lasts",
    ("manager", "rpc_topic"): _NO_RPC,
    ("nova", "compute_service"): _CATALOGUE,
    ("nova", "nova_client_version"): _ASKED,
    ("nova", "project_id_key"): "Blazar itself never used it",
    ("oslo_concurrency", "*"): "there are no lock files",
    (
        "physical:host",
        "randomize_host_selection",
    ): "the lowest-numbered free hosts are taken, so that large requests find room",
}
"""Blazar's options that Leasehold does not have, each with the reason; `*` is every other option of a section."""

ELSEWHERE = frozenset({("DEFAULT", "auth_strategy"), ("DEFAULT", "control_exchange"), ("DEFAULT", "transport_url")})
"""Options that have another section here, or that oslo.messaging reads itself in leasehold-bridge."""
SECTIONS_OF_OTHER_SERVICES = frozenset(
    {
        *("keystone_authtoken", "oslo_policy", "oslo_middleware", "cache"),
        # Of leasehold-bridge.
        *("oslo_messaging_amqp", "oslo_messaging_kafka", "oslo_messaging_metrics", "oslo_messaging_notifications"),
        "oslo_messaging_rabbit",
    }
)
"""Sections that libraries read themselves."""


def ineffective(conf: cfg.ConfigOpts) -> list[str]:
    """Return a sentence for each option in the configuration files that has no effect, in their order."""
    sentences = {}
    for file in conf.config_file:
        for section, option in _written(file):
            name = f"[{section}] {option}"
            if name not in sentences and not _known(conf, section, option):
                sentences[name] = f"{name} in {file} has no effect: {_why(section, option)}."
    return list(sentences.values())


def _written(file: str) -> Iterator[tuple[str, str]]:
    sections: dict[str, dict[str, list[str]]] = {}
    cfg.ConfigParser(file, sections).parse()
    for section, options in sections.items():
        for option in options:
            yield section, option.replace("-", "_")


def _known(conf: cfg.ConfigOpts, section: str, option: str) -> bool:
    if section in SECTIONS_OF_OTHER_SERVICES or (section, option) in ELSEWHERE:
        return True
    if section == "DEFAULT":
        return option in conf
    return section in conf and option in conf[section]


def _why(section: str, option: str) -> str:
    reason = MEANINGLESS.get((section, option)) or MEANINGLESS.get((section, "*"))
    return reason or "Leasehold has no such option; check its spelling"
