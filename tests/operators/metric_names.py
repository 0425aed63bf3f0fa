"""The metrics that the service exports, read from their definitions."""

from __future__ import annotations

import importlib
import pkgutil
import re
from typing import TYPE_CHECKING

from prometheus_client import REGISTRY

from leasehold import features, metrics
from leasehold.metrics.state_gauges import ResourceGauges, StateGauges, StateGaugesCollector

if TYPE_CHECKING:
    from types import ModuleType

METRIC = re.compile(r"\bleasehold_(?!nova\b)[a-z_]+\b")


def load_all(package: ModuleType) -> None:
    """Import all modules of a package, which define metrics and errors."""
    for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        importlib.import_module(module.name)


def known_metrics() -> set[str]:
    """Return the names, those of counters with their `_total`."""
    for package in (metrics, features):
        load_all(package)
    gauges = StateGauges(0, 0, 0, 0.0, {"ACTIVE": 0}, 0, {"physical:host": ResourceGauges(0, 0, 0)})
    families = [*REGISTRY.collect(), *StateGaugesCollector(lambda: gauges).collect()]
    names = {f"{family.name}_total" if family.type == "counter" else family.name for family in families}
    return {name for name in names if name.startswith("leasehold_")}
