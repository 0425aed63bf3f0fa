"""Checks the rules with oslo.policy, which loads them once at start."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, Protocol

from oslo_config import cfg
from oslo_policy import policy

from leasehold.conf.errors import ConfigurationError
from leasehold.conf.load import unset
from leasehold.model.errors import ForbiddenError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from leasehold.api.policies.base import Rule
    from leasehold.conf.settings import PolicySettings
    from leasehold.model.caller import Caller

ADMIN = "admin"
MOST_REMEMBERED = 4096


class Owned(Protocol):
    """The target of a rule: something that a user of a project owns. The caller owns what a request creates."""

    @property
    def user_id(self) -> str: ...

    @property
    def project_id(self) -> str: ...


class Policies:
    """The rules in force: our defaults, overridden by the operator's policy file. Changing the file needs a restart."""

    def __init__(self, settings: PolicySettings, rules: Sequence[policy.RuleDefault]) -> None:
        """Load the rules; raises `ConfigurationError` when the file cannot be used."""
        self._enforcer = load_rules(settings, rules)
        self._names = sorted(rule.name for rule in rules if ":" in rule.name)
        asks_elsewhere = any("http" in str(check) for check in self._enforcer.rules.values())
        # oslo.policy evaluates every check anew, which costs as much as half a transaction. The result for the same
        # caller and owner never changes, so it is cached, unless the operator's rules ask another service.
        self._decide = self._ask if asks_elsewhere else lru_cache(MOST_REMEMBERED)(self._ask)

    def allows(self, rule: Rule, caller: Caller, target: Owned) -> bool:
        """Say whether `rule` allows `caller` to act on what `target` owns. An unknown rule allows nobody."""
        return self._decide(rule.name, caller, target.user_id, target.project_id)

    def require(self, rule: Rule, caller: Caller, target: Owned) -> None:
        """Raise `ForbiddenError` naming `rule` unless it allows `caller` to act on what `target` owns."""
        if not self.allows(rule, caller, target):
            message = f"Policy {rule} does not allow this. Ask an administrator for a role that it names."
            raise ForbiddenError(message, details={"rule": rule.name})

    def granted(self, caller: Caller) -> list[str]:
        """Return the rules about requests that allow `caller` to act on what it owns, by name."""
        return [each for each in self._names if self._decide(each, caller, caller.user_id, caller.project_id)]

    def is_admin(self, caller: Caller) -> bool:
        """Say whether `caller` administers the service, in any project."""
        return self._decide(ADMIN, caller, caller.user_id, caller.project_id)

    def _ask(self, rule: str, caller: Caller, user_id: str, project_id: str) -> bool:
        target = {"user_id": user_id, "project_id": project_id}
        return bool(self._enforcer.enforce(rule, target, _credentials(caller)))


def _credentials(caller: Caller) -> dict[str, Any]:
    """Return the caller's attributes for the rules, under the names that oslo.context uses.

    The scope is always a project, because authentication refuses callers without one.
    """
    credentials = {
        "user_id": caller.user_id,
        "user_domain_id": caller.user_domain_id,
        "project_id": caller.project_id,
        "project_domain_id": caller.project_domain_id,
        "domain_id": None,
        "system_scope": None,
        "roles": sorted(caller.roles),
        "is_admin": False,
        "is_admin_project": caller.is_admin_project,
        "service_roles": [],
    }
    if caller.service is not None:
        credentials |= {
            "service_user_id": caller.service.user_id,
            "service_user_domain_id": caller.service.user_domain_id,
            "service_project_id": caller.service.project_id,
            "service_project_domain_id": caller.service.project_domain_id,
            "service_roles": sorted(caller.service.roles),
        }
    return credentials


def load_rules(settings: PolicySettings, rules: Sequence[policy.RuleDefault]) -> policy.Enforcer:
    """Return the rules in force: these, as the operator's file changes them; raises `ConfigurationError`."""
    conf = unset()
    enforcer = policy.Enforcer(conf, policy_file=settings.file, use_conf=True)
    conf.set_override("enforce_new_defaults", settings.new_defaults, group="oslo_policy")
    conf.set_override("policy_dirs", list(settings.directories), group="oslo_policy")
    enforcer.suppress_default_change_warnings = True
    enforcer.register_defaults(rules)
    try:
        enforcer.load_rules()
        enforcer.check_rules(raise_on_violation=True)
    except (policy.InvalidDefinitionError, policy.InvalidRuleDefault, OSError, ValueError, cfg.Error) as error:
        message = f"The policy file {settings.file} cannot be used: {error} Correct it, or remove it for the defaults."
        raise ConfigurationError(message) from error
    # Stop reading files: it would slow down requests, and reloading is not thread-safe.
    enforcer.use_conf = False
    return enforcer
