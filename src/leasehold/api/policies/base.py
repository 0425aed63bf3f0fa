"""Rules: who may do what by default, and the rules that they consist of."""

from __future__ import annotations

from dataclasses import dataclass

from oslo_policy import policy

ADMIN = "rule:admin"
MEMBER_OR_ADMIN = "rule:project_member_or_admin"
READER_OR_ADMIN = "rule:project_reader_or_admin"

SINCE = "1.0.0"
REASON = "The default now requires the member or the reader role in the project, or an administrator."

PARTS = [
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
"""What other rules consist of."""


@dataclass(frozen=True, slots=True)
class Rule:
    """Who may do something: a name, the default, which an operator's file replaces, and what it allows.

    A route says which rules its requests are checked by. One of a project's resources that Blazar has too was open to
    everybody in the project.
    """

    name: str
    check: str
    description: str
    was_open: bool = False

    def __str__(self) -> str:
        return self.name

    def documented(self, requests: list[policy.Operation]) -> policy.DocumentedRuleDefault:
        """Return the rule for oslo.policy; these requests are checked by it."""
        old = policy.DeprecatedRule(self.name, "rule:admin_or_owner", deprecated_reason=REASON, deprecated_since=SINCE)
        return policy.DocumentedRuleDefault(
            self.name,
            self.check,
            self.description,
            requests,
            scope_types=["project"],
            deprecated_rule=old if self.was_open else None,
        )
