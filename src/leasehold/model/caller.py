"""The caller: who makes a request, as the authentication established it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Caller:
    """A user acting in a project, with the roles held there.

    The other fields are for operators' policies, as far as the authentication provides them. `service` is the service
    that passes on the user's request and has authenticated itself.
    """

    user_id: str
    project_id: str
    roles: frozenset[str] = frozenset()
    user_domain_id: str | None = None
    project_domain_id: str | None = None
    is_admin_project: bool = True
    service: Caller | None = None


@dataclass(frozen=True, slots=True)
class Sight:
    """What a caller may learn about resources.

    That is their identities (`hosts`), their private properties (`private`), and which are `disabled`.
    """

    hosts: bool = True
    private: bool = True
    disabled: bool = True


EVERYTHING = Sight()
"""What an operator may learn."""
NOTHING = Sight(hosts=False, private=False, disabled=False)
"""What somebody may learn who is not known."""
