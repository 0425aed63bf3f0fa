"""The base rules, which the rules of the other modules refer to."""

from __future__ import annotations

from oslo_policy import policy

ADMIN = "rule:admin"
MEMBER_OR_ADMIN = "rule:project_member_or_admin"
READER_OR_ADMIN = "rule:project_reader_or_admin"

SCOPE = ["project"]

SINCE = "1.0.0"
REASON = "The default now requires the member or the reader role in the project, or an administrator."

RULES = [
    policy.RuleDefault("admin", "is_admin:True or role:admin", "An administrator of the reservation service."),
    policy.RuleDefault(
        "admin_or_owner",
        "rule:admin or project_id:%(project_id)s",
        "Deprecated: an administrator, or anybody in the owning project.",
    ),
    policy.RuleDefault(
        "project_member_api", "role:member and project_id:%(project_id)s", "A member of the owning project."
    ),
    policy.RuleDefault(
        "project_reader_api", "role:reader and project_id:%(project_id)s", "A reader of the owning project."
    ),
    policy.RuleDefault(
        "project_member_or_admin",
        "rule:project_member_api or rule:admin",
        "A member of the project, or an administrator.",
    ),
    policy.RuleDefault(
        "project_reader_or_admin",
        "rule:project_reader_api or rule:admin",
        "A reader of the project, or an administrator.",
    ),
]


def rule(name: str, check: str, description: str, *requests: str) -> policy.DocumentedRuleDefault:
    """Return a rule that these requests are checked by, each a method and a path (`GET /v1/leases`)."""
    operations: list[policy.Operation] = [{"path": path, "method": method} for method, path in map(str.split, requests)]
    return policy.DocumentedRuleDefault(name, check, description, operations, scope_types=SCOPE)


def owned(name: str, check: str, description: str, method: str, path: str) -> policy.DocumentedRuleDefault:
    """Return a rule about resources that a project owns; its deprecated default allows everybody in the project."""
    return policy.DocumentedRuleDefault(
        name,
        check,
        description,
        [{"path": path, "method": method}],
        scope_types=SCOPE,
        deprecated_rule=policy.DeprecatedRule(
            name, "rule:admin_or_owner", deprecated_reason=REASON, deprecated_since=SINCE
        ),
    )


def admin_only(name: str, description: str, method: str, path: str) -> policy.DocumentedRuleDefault:
    """Return a rule that allows only administrators."""
    return rule(name, ADMIN, description, f"{method} {path}")
