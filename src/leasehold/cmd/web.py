"""The API of the core and of all features: its routes, their rules of policy, and the WSGI application."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leasehold.api import app
from leasehold.api.policies import enforcer
from leasehold.api.route import rules_of
from leasehold.api.routes import core
from leasehold.features.registry import FEATURES, load

if TYPE_CHECKING:
    from collections.abc import Mapping

    from oslo_config import cfg
    from oslo_policy import policy

    from leasehold.api.app import App
    from leasehold.api.call import Addition
    from leasehold.api.lease_field import LeaseField
    from leasehold.api.limits.admission_control import AdmissionControl
    from leasehold.api.mount import MakeMount
    from leasehold.api.route import Route
    from leasehold.conf.settings import ApiSettings
    from leasehold.leasing.refusals import RefusalCounts
    from leasehold.leasing.service import Service

ROUTES: tuple[Route, ...] = (*core.ROUTES, *(route for each in FEATURES for route in each.routes()))
MOUNTS: tuple[MakeMount, ...] = tuple(make for each in FEATURES for make in each.mounts())
ADDITIONS: Mapping[str, Addition] = {key: each for feature in FEATURES for key, each in feature.additions().items()}

LEASE_FIELDS: tuple[LeaseField, ...] = tuple(each for feature in FEATURES for each in feature.lease_fields())


def make_app(
    service: Service,
    settings: ApiSettings,
    raw: cfg.ConfigOpts | None = None,
    admission: AdmissionControl | None = None,
    refusals: RefusalCounts | None = None,
) -> App:
    """Return the whole API over `service` as a WSGI callable (`leasehold.api.app.make_app`)."""
    return app.make_app(service, settings, app.Parts(ROUTES, ADDITIONS, MOUNTS, LEASE_FIELDS), raw, admission, refusals)


def list_rules() -> list[policy.RuleDefault]:
    """Return all our rules, for `oslopolicy-sample-generator` and similar tools (`--namespace leasehold`)."""
    return rules_of(ROUTES)


def get_enforcer() -> policy.Enforcer:
    """Return the rules in force, for `oslopolicy-policy-generator` and similar tools; raises `ConfigurationError`."""
    return enforcer.load_rules(load().api.policy, rules_of(ROUTES))
