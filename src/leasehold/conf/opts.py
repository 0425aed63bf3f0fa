"""Lists all our options, for `oslo-config-generator --namespace leasehold` and for the reference.

There is no second list: this module records the options that the groups register.
"""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING, Any

from keystoneauth1 import loading
from oslo_config import cfg
from stevedore import NamedExtensionManager

from leasehold.conf import keystone
from leasehold.conf.load import GROUPS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from leasehold.conf.options import Options

LIBRARIES = ("keystonemiddleware.auth_token", "oslo.log", "oslo.policy")
"""Namespaces of the libraries whose options our programs read as well."""
USUAL_LOGIN = "password"
"""The login plugin whose options are listed. The options depend on `auth_type`; operators usually use this one."""

Section = tuple[str | None, list[cfg.Opt]]


def list_opts(features: Sequence[Options[Any]] = ()) -> list[Section]:
    """Return our options, with those of features, by group, None for `[DEFAULT]`, without those of the libraries."""
    theirs = {(group, option.dest) for group, options in list_library_opts() for option in options}
    return _by_group([(group, option) for group, option in _registered(features) if (group, option.dest) not in theirs])


def list_library_opts() -> list[Section]:
    """Return the options of the libraries, as the libraries list them."""
    found: NamedExtensionManager[Any] = NamedExtensionManager(
        "oslo.config.opts", LIBRARIES, on_load_failure_callback=_refuse, name_order=True
    )
    sections = [section for each in found for section in each.plugin()]
    return _by_group([(None if group is None else str(group), option) for group, opts in sections for option in opts])


def _by_group(options: list[tuple[str | None, cfg.Opt]]) -> list[Section]:
    groups: dict[str | None, dict[str, cfg.Opt]] = {}
    for group, option in options:
        groups.setdefault(group, {}).setdefault(option.dest, option)
    return [(group, list(found.values())) for group, found in groups.items()]


def _registered(features: Sequence[Options[Any]]) -> list[tuple[str | None, cfg.Opt]]:
    """Return the options that our groups register, with the defaults that they set for options of libraries."""
    conf = _Listener()
    for group in GROUPS:
        group.register(conf)
    for each in features:
        each.register(conf)
    heard = list(conf.heard)
    conf([], default_config_files=[], default_config_dirs=[])
    ours = [(group, _with_default(option, conf, group)) for group, option in heard]
    return [*ours, *((keystone.GROUP, option) for option in loading.get_auth_plugin_conf_options(USUAL_LOGIN))]


def _with_default(option: cfg.Opt, conf: cfg.ConfigOpts, group: str | None) -> cfg.Opt:
    mine = copy(option)
    mine.default = (conf if group is None else conf[group])[option.dest]
    return mine


class _Listener(cfg.ConfigOpts):
    """Records the registered options, in order."""

    def __init__(self) -> None:
        self.heard: list[tuple[str | None, cfg.Opt]] = []
        super().__init__()
        self.heard.clear()  # Options that oslo.config registers for itself are not the service's.

    def register_opt(self, opt: cfg.Opt, group: Any = None, **more: Any) -> bool:
        """Register the option, and record it."""
        new: bool = super().register_opt(opt, group=group, **more)
        if new:
            name = getattr(group, "name", group)
            self.heard.append((None if name in (None, "DEFAULT") else str(name), opt))
        return new


def _refuse(_manager: object, entry_point: object, error: BaseException) -> None:
    message = f"The options of {entry_point} cannot be listed."
    raise RuntimeError(message) from error
