"""All features, in the order in which the API describes their routes: what `NAMES` lists is run, and nothing else."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from leasehold import conf
from leasehold.conf import opts
from leasehold.db.tables import metadata

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sqlalchemy import MetaData

    from leasehold.cloud.ports import Cloud
    from leasehold.conf.options import Options
    from leasehold.conf.settings import Settings
    from leasehold.db.store import Database
    from leasehold.enforcement.base import Added
    from leasehold.features.feature import Feature
    from leasehold.leasing.deciding.clause import Clause
    from leasehold.leasing.deciding.source import Source
    from leasehold.leasing.fit import Estimator
    from leasehold.leasing.record import Record
    from leasehold.leasing.service import MakeWay, Owns, Words
    from leasehold.leasing.stay import Stays
    from leasehold.model.delay import Listener

NAMES: Final = (
    "alarm",
    "audit",
    "availability",
    "console",
    "fair_share",
    "feed",
    "filler",
    "flexible",
    "forecast",
    "held_offer",
    "lease_history",
    "lending",
    "maintenance",
    "owned_resource",
    "planned_capacity",
    "power",
    "preemption",
    "price",
    "quota",
    "refusal",
    "series",
    "subscription",
    "template",
    "timeline",
    "unified_limits",
    "usage",
)
FEATURES: tuple[Feature, ...] = tuple(import_module(f"leasehold.features.{name}").FEATURE for name in NAMES)


def options() -> list[Options[Any]]:
    """Return the options of all features."""
    return [each.options for each in FEATURES if each.options is not None]


def load(
    args: Sequence[str] = (),
    *,
    prog: str = "leasehold",
    about: str | None = None,
    defaults: Mapping[tuple[str, str], object] | None = None,
) -> conf.Config:
    """Read the configuration with the options of all features (`conf.load`)."""
    return conf.load(args, prog=prog, about=about, defaults=defaults, features=options())


def words() -> tuple[Words, ...]:
    """Return what reads the words of features in a sent reservation."""
    return tuple(each for feature in FEATURES for each in feature.reading())


def sources() -> tuple[Source, ...]:
    """Return where leases may have their resources from, beside the pools."""
    return tuple(each for feature in FEATURES for each in feature.leasing_from())


def listeners(db: Database, pause: float | None = None) -> tuple[Listener, ...]:
    """Return who hears of requests that are delayed; they write that after a `pause`, or when it is read."""
    return tuple(each for feature in FEATURES for each in feature.listeners(db, pause))


def ways() -> tuple[MakeWay, ...]:
    """Return how leases of features make room for others."""
    return tuple(each for feature in FEATURES for each in feature.making_room())


def clauses(settings: Settings) -> tuple[Clause, ...]:
    """Return what looks for features at each decision before it is written."""
    return tuple(each for feature in FEATURES for each in feature.clauses(settings))


def estimators(settings: Settings) -> tuple[Estimator, ...]:
    """Return what says more for features of windows in which a lease would fit."""
    return tuple(each for feature in FEATURES for each in feature.estimators(settings))


def records(settings: Settings) -> tuple[Record, ...]:
    """Return what features have recorded of what became of promises."""
    return tuple(each for feature in FEATURES for each in feature.recorded(settings))


def stays() -> tuple[Stays, ...]:
    """Return what knows what projects have had without a promise."""
    return tuple(each for feature in FEATURES for each in feature.lodging())


def owns() -> tuple[Owns, ...]:
    """Return what knows whose the objects in the cloud are that features have there as reservations do."""
    return tuple(each for feature in FEATURES for each in feature.owning())


def enforcing(settings: Settings, cloud: Cloud) -> tuple[Added, ...]:
    """Return what features add to enforcement; raises ConfigurationError."""
    return tuple(each for feature in FEATURES for each in feature.enforcing(settings, cloud))


def all_tables() -> MetaData:
    """Return the tables of the core and of all features."""
    for each in FEATURES:
        each.load_tables()
    return metadata


def list_opts() -> list[opts.Section]:
    """Return all our options, for `oslo-config-generator` (`--namespace leasehold`)."""
    return opts.list_opts(options())
