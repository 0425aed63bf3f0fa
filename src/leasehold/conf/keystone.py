"""How the service logs in to the cloud, and where it finds the cloud's services.

The account comes from the first of these that is filled in: `[cloud]` with keystoneauth's options, Blazar's
`os_admin_*` options (contract lifecycle §11), `[keystone_authtoken]`. `[nova]`, `[placement]`, `[neutron]`, `[glance]`
and `[cinder]` choose the endpoint of each service; `[ironic]`, `[unified_limits]` and `[cloudkitty]` may name an
account as well.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from keystoneauth1 import loading
from keystoneauth1.exceptions import ClientException, NoMatchingPlugin
from keystoneauth1.identity import v3
from oslo_config import cfg
from oslo_utils.netutils import escape_ipv6

from leasehold.conf.errors import LONE_DOLLAR, ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from keystoneauth1.plugin import BaseAuthPlugin
    from keystoneauth1.session import Session

GROUP = "cloud"
MIDDLEWARE_GROUP = "keystone_authtoken"
SERVICES = {
    "nova": {"service_type": "compute", "min_version": "2.1", "max_version": "2.latest"},
    "placement": {"service_type": "placement"},
    "neutron": {"service_type": "network", "min_version": "2.0", "max_version": "2.latest"},
    "glance": {"service_type": "image", "min_version": "2.0", "max_version": "2.latest"},
    "cinder": {"service_type": "block-storage", "min_version": "3.0", "max_version": "3.latest"},
}
"""Defaults of the services' sections: the type in the catalogue, and the versions whose URL is looked up there."""
IRONIC, BAREMETAL = "ironic", "baremetal"
"""The section of a service that only some clouds have, and its type in the catalogue."""
LIMITS, IDENTITY = "unified_limits", "identity"
"""The section of Keystone as the service that keeps limits, and its type in the catalogue."""

CLOUDKITTY, RATING = "cloudkitty", "rating"
"""The section of the service that adds up what projects pay for, and its type in the catalogue."""

TIMEOUT_SECONDS = 60
"""A call to the cloud that takes longer is aborted and retried later."""

_SESSION = ("cafile", "certfile", "keyfile", "insecure", "timeout")
_BY_PASSWORD = ("password", "v3password")
_ACCOUNT = ("username", "password", "project_name", "user_domain_name", "project_domain_name")
"""What an account consists of, as keystoneauth names it, and Blazar after `os_admin_`."""
_USUAL = "auth_type, auth_url, username, password, project_name, user_domain_name and project_domain_name"

BLAZAR_OPTIONS = [
    cfg.StrOpt("os_auth_protocol", default="http", help="Blazar's: protocol of Keystone, http or https."),
    cfg.StrOpt("os_auth_host", default="127.0.0.1", help="Blazar's: host name or address of Keystone."),
    cfg.StrOpt("os_auth_port", default="5000", help="Blazar's: port of Keystone; empty for the protocol's own."),
    cfg.StrOpt("os_auth_prefix", default="", help="Blazar's: path of Keystone before its version, e.g. identity."),
    cfg.StrOpt("os_auth_version", default="v3", help="Blazar's: version of Keystone's API; only v3 is supported."),
    cfg.StrOpt("os_admin_username", default="admin", help="Blazar's: account that acts in the cloud."),
    cfg.StrOpt("os_admin_password", secret=True, help="Blazar's: its password; required to use it."),
    cfg.StrOpt("os_admin_project_name", default="admin", help="Blazar's: project of that account."),
    cfg.StrOpt("os_admin_user_domain_name", default="Default", help="Blazar's: domain of the account."),
    cfg.StrOpt("os_admin_project_domain_name", default="Default", help="Blazar's: domain of its project."),
    cfg.StrOpt("os_region_name", help="Blazar's: region whose endpoints are used, where a section names none."),
    cfg.StrOpt("cafile", help="Blazar's: file of the certificates to trust, where [cloud] cafile names none."),
    cfg.StrOpt("endpoint_type", help="Blazar's: interface of Keystone's endpoint. The login does not need it."),
]

ENDPOINT_TYPE = cfg.StrOpt(
    "endpoint_type",
    choices=["public", "internal", "admin"],
    help="Blazar's: the only interface to use. valid_interfaces may name several.",
)


def register(conf: cfg.ConfigOpts) -> None:
    """Add the options of the login and of the services' endpoints to `conf`."""
    conf.register_opts(BLAZAR_OPTIONS)
    for group in (GROUP, MIDDLEWARE_GROUP):
        loading.register_auth_conf_options(conf, group)
    loading.register_session_conf_options(conf, GROUP)
    conf.set_default("timeout", TIMEOUT_SECONDS, group=GROUP)
    for group, defaults in SERVICES.items():
        _register_endpoint(conf, group, defaults)
        conf.register_opt(ENDPOINT_TYPE, group=group)
    register_apart(conf, IRONIC, BAREMETAL)
    register_apart(conf, LIMITS, IDENTITY)
    register_apart(conf, CLOUDKITTY, RATING)


def register_apart(conf: cfg.ConfigOpts, section: str, service_type: str) -> None:
    """Add the options of one service more, whose section may have a login of its own; may be repeated."""
    _register_endpoint(conf, section, {"service_type": service_type})
    loading.register_auth_conf_options(conf, section)
    loading.register_session_conf_options(conf, section)


def inherit(conf: cfg.ConfigOpts, section: str) -> None:
    """Let the section of such a service have what the cloud has: the region, and the options of sessions."""
    for name in _SESSION:
        conf.set_default(name, conf[GROUP][name], group=section)
    conf.set_default("region_name", conf.nova.region_name or conf.os_region_name, group=section)


def _register_endpoint(conf: cfg.ConfigOpts, section: str, defaults: Mapping[str, str]) -> None:
    loading.register_adapter_conf_options(conf, section, include_deprecated=False)
    for name, value in defaults.items():
        conf.set_default(name, value, group=section)
    conf.set_default("valid_interfaces", ["internal", "public"], group=section)


def register_account(conf: cfg.ConfigOpts) -> None:
    """Add the options of the login plugin that `[cloud] auth_type` names; raises `ConfigurationError` if unknown."""
    auth_type = conf[GROUP].auth_type
    if auth_type:
        try:
            conf.register_opts(loading.get_auth_plugin_conf_options(auth_type), group=GROUP)
        except NoMatchingPlugin as error:
            message = f"[cloud] auth_type {auth_type!r} is not known; the usual one is password."
            raise ConfigurationError(message) from error


def open_session(conf: cfg.ConfigOpts) -> Session:
    """Return a session that logs in when it is first used; raises `ConfigurationError` when no account is configured.

    Blazar's options of the region, the interface and the certificates apply where ours are not set.
    """
    _translate(conf)
    return loading.load_session_from_conf_options(conf, GROUP, auth=_open_account(conf))


def identity_url(conf: cfg.ConfigOpts) -> str | None:
    """Return the URL of Keystone at which the service's account logs in; None if no account with a URL is configured.

    Unlike `open_session`, it reads neither credentials nor `[keystone_authtoken]`.
    """
    if "auth_url" in conf[GROUP] and conf[GROUP].auth_url:
        return str(conf[GROUP].auth_url)
    return _auth_url(conf) if conf.os_admin_password else None


def load_login(conf: cfg.ConfigOpts, group: str) -> BaseAuthPlugin | None:
    """Return the login plugin that a section configures, or None; makes no calls yet.

    Raises `ConfigurationError` for a login that can never work, so that the start fails and not the first lease.
    """
    section = conf[group].auth_section or group
    loading.register_auth_conf_options(conf, section)
    try:
        login = loading.load_auth_from_conf_options(conf, group)
        if conf[section].auth_type in _BY_PASSWORD:
            _check_password(conf[section], section)
    except ClientException as error:
        message = f"The credentials in [{section}] cannot be used: {error}. Set {_USUAL} in [{section}]."
        raise ConfigurationError(message) from error
    except cfg.NoSuchOptError:
        # The text and the traceback of the error hold the rest of the password.
        raise ConfigurationError(f"The credentials in [{section}] cannot be used: {LONE_DOLLAR}") from None
    return login


def _check_password(section: cfg.ConfigOpts.GroupAttr, name: str) -> None:
    """Refuse missing credentials, which the library reports only at its first call."""
    missing = [] if section.password else ["password"]
    missing += [] if section.username or section.user_id else ["username"]
    if missing:
        raise ConfigurationError(f"The credentials in [{name}] cannot be used: set {' and '.join(missing)} there.")


def _translate(conf: cfg.ConfigOpts) -> None:
    for group in SERVICES:
        section = conf[group]
        if section.region_name is None and conf.os_region_name:
            conf.set_default("region_name", conf.os_region_name, group=group)
        if section.endpoint_type:
            conf.set_default("valid_interfaces", [section.endpoint_type], group=group)
    if conf[GROUP].cafile is None and conf.cafile:
        conf.set_default("cafile", conf.cafile, group=GROUP)


def _open_account(conf: cfg.ConfigOpts) -> BaseAuthPlugin:
    plugin = load_login(conf, GROUP)
    if plugin is None and conf.os_admin_password:
        return v3.Password(auth_url=_auth_url(conf), **{name: conf[f"os_admin_{name}"] for name in _ACCOUNT})
    plugin = plugin or load_login(conf, MIDDLEWARE_GROUP)
    if plugin is None:
        raise ConfigurationError(f"No account for the cloud is configured. Set {_USUAL} in [{GROUP}].")
    return plugin


def _auth_url(conf: cfg.ConfigOpts) -> str:
    port = f":{conf.os_auth_port}" if conf.os_auth_port else ""
    path = "/".join(part.strip("/") for part in (conf.os_auth_prefix, "v3") if part)
    return f"{conf.os_auth_protocol}://{escape_ipv6(conf.os_auth_host.strip('[]'))}{port}/{path}"
