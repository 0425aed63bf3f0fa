"""The caller: who makes a request, as the authentication established it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Caller:
    """A user acting in a project, with the roles held there."""

    user_id: str
    project_id: str
    roles: frozenset[str] = frozenset()
