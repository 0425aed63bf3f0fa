"""Reads the command line and a configuration file into frozen settings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.metadata import version as distribution_version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from oslo_config import cfg

from leasehold.conf import api, bridge, cloud, database, external, keystone, leases, logging, manager, metrics, region
from leasehold.conf.errors import LONE_DOLLAR, unusable
from leasehold.conf.options import MOST, YEAR
from leasehold.conf.settings import ApiSettings, Settings

if TYPE_CHECKING:
    from collections.abc import Sequence

    from leasehold.conf.database import DatabaseSettings
    from leasehold.conf.options import Options

FILE_NAME = "leasehold.conf"
SYSTEM_DIRECTORY = Path("/etc/leasehold")
BLAZAR_FILE = Path("/etc/blazar/blazar.conf")
"""Blazar's configuration: read where there is no file of our own."""

GROUPS = (leases, external, cloud, keystone, manager, bridge, metrics, database, api, region, logging)


@dataclass(frozen=True, slots=True)
class Config:
    """The whole configuration. `raw` is for libraries that read oslo.config themselves."""

    settings: Settings
    api: ApiSettings
    database_url: str = field(repr=False)
    database: DatabaseSettings
    raw: cfg.ConfigOpts = field(repr=False, compare=False)


def load(
    args: Sequence[str] = (),
    *,
    prog: str = "leasehold",
    about: str | None = None,
    defaults: Mapping[tuple[str, str], object] | None = None,
    features: Sequence[Options[Any]] = (),
) -> Config:
    """Read the configuration that `args` names, else `leasehold.conf` here or in /etc/leasehold, else Blazar's.

    `about` is the program's description in `--help`. `defaults` replaces the default of `(group, option)` for one
    program; a file takes precedence. The group of Blazar's top-level options is `DEFAULT`. `features` are the options
    of features. Raises `ConfigurationError` with a sentence; `--help` ends the program.
    """
    conf = cfg.ConfigOpts()
    for group in GROUPS:
        group.register(conf)
    for each in features:
        each.register(conf)
    for (group_name, option), value in (defaults or {}).items():
        conf.set_default(option, value, group=None if group_name == "DEFAULT" else group_name)
    try:
        conf(
            list(args),
            project="leasehold",
            prog=prog,
            version=version(),
            description=about,
            default_config_files=_files(),
            default_config_dirs=[],
        )
        keystone.register_account(conf)
        region.settle(conf)
        _check_numbers(conf)
        settings = Settings(
            leases=leases.read(conf),
            cloud=cloud.read(conf),
            manager=manager.read(conf),
            bridge=bridge.read(conf),
            plugins=manager.read_plugins(conf),
            features={each.settings: each.read_from(conf) for each in features},
        )
        return Config(
            settings=settings,
            api=api.read(conf),
            database_url=database.read(conf),
            database=database.read_settings(conf),
            raw=conf,
        )
    except cfg.NoSuchOptError:
        # The text of the error holds what follows the dollar, which may be half a password.
        raise unusable(LONE_DOLLAR) from None
    except cfg.Error as error:
        raise unusable(str(error)) from error


def _check_numbers(conf: cfg.ConfigOpts) -> None:
    """Raise ConfigurationError for a number that nothing can be counted with, such as `inf`; oslo.config takes it."""
    found = {"DEFAULT": conf, **{name: part for name, part in conf.items() if isinstance(part, Mapping)}}
    for group, options in found.items():
        for name, value in options.items():
            # What is no whole number is a time for which something waits.
            most = YEAR if isinstance(value, float) else MOST
            if isinstance(value, int | float) and not -most <= value <= most:
                raise unusable(f"[{group}] {name} is {value}; it may be {most} at most.")


def version() -> str:
    """Return the version of this service, such as "1.0.0"."""
    return distribution_version("leasehold")


def unset() -> cfg.ConfigOpts:
    """Return a configuration without options and values, for libraries that need one."""
    conf = cfg.ConfigOpts()
    conf([], default_config_files=[], default_config_dirs=[])
    return conf


def _files() -> list[str]:
    candidates = (Path.cwd() / FILE_NAME, SYSTEM_DIRECTORY / FILE_NAME, BLAZAR_FILE)
    return [str(path) for path in candidates if path.is_file()][:1]
