"""Keystone's limits, by the names under which operators register them, such as `reservation:hosts`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from leasehold.conf.errors import unusable
from leasehold.conf.keystone import LIMITS
from leasehold.enforcement.base import Added
from leasehold.enforcement.given import LIMITED, Given
from leasehold.enforcement.outside import Outside
from leasehold.features.unified_limits.options import UnifiedLimitsSettings

if TYPE_CHECKING:
    from leasehold.cloud.ports import Cloud, Limits
    from leasehold.conf.settings import Settings

PREFIX: Final = "reservation:"


def added(settings: Settings, cloud: Cloud) -> Added | None:
    """Return what gives projects their limits; raises ConfigurationError where the cloud shows none."""
    own = settings.of(UnifiedLimitsSettings)
    if not own.enabled:
        return None
    limits = cloud.limits
    if limits is None:
        raise unusable(
            f"[{LIMITS}] enabled: name in this section the account that reads the limits of all projects (auth_type, "
            "auth_url, username, password, user_domain_name, system_scope = all). The sandbox has no limits."
        )
    outside = Outside("The limits of the project", lambda project: given(limits, project), own.cache, own.on_failure)
    return Added(outside, given=outside.of)


def given(limits: Limits, project_id: str) -> Given:
    """Return those limits of a project that are counted here; raises CloudError."""
    found = limits.of(project_id)
    return Given({name: found[PREFIX + name] for name in LIMITED if PREFIX + name in found}, "Keystone", PREFIX)
