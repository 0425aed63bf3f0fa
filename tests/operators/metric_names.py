"""The metrics that the service exports, read from their definitions."""

from __future__ import annotations

import importlib
import pkgutil
import re

from prometheus_client import REGISTRY

from leasehold import metrics
from leasehold.metrics.state_gauges import ResourceGauges, StateGauges, StateGaugesCollector

METRIC = re.compile(r"\bleasehold_(?!nova\b)[a-z_]+\b")


def known_metrics() -> set[str]:
    """Return the names, those of counters with their `_total`."""
    for module in pkgutil.iter_modules(metrics.__path__):
        importlib.import_module(f"{metrics.__name__}.{module.name}")
    gauges = StateGauges(0, 0, 0, 0.0, {"ACTIVE": 0}, 0, {"physical:host": ResourceGauges(0, 0, 0)})
    families = [*REGISTRY.collect(), *StateGaugesCollector(lambda: gauges).collect()]
    names = {f"{family.name}_total" if family.type == "counter" else family.name for family in families}
    return {name for name in names if name.startswith("leasehold_")}
