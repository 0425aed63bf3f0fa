"""What the console's pages are shown of the session."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from leasehold.model.caller import Caller

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from leasehold.features.console.door import Opened
    from leasehold.features.console.identity import Identity, Named
    from leasehold.features.console.model import Session


def show_named(named: Named) -> dict[str, Any]:
    """Show a user or a project."""
    return {"id": named.id, "name": named.name, "domain": named.domain}


def caller_of(identity: Identity) -> Caller:
    """Return the caller as which the rules know a person."""
    return Caller(
        user_id=identity.user.id,
        project_id=identity.project.id,
        roles=frozenset(identity.roles),
        user_domain_id=identity.user.domain_id,
        project_domain_id=identity.project.domain_id,
        is_admin_project=identity.is_admin_project,
    )


def show_session(opened: Opened, projects: Sequence[Named], may: Sequence[str], **more: Any) -> dict[str, Any]:
    """Show who is signed in, where and until when; `may` are the rules that allow the person something."""
    identity = opened.identity
    rules = identity.access_rules
    return {
        "strategy": identity.strategy,
        "user": show_named(identity.user),
        "project": show_named(identity.project),
        "projects": [show_named(each) for each in projects],
        "roles": list(identity.roles),
        "can_switch": identity.can_switch,
        "expires_at": show_moment(opened.session.expires_at),
        "access_rules": None if rules is None else [{"method": each.method, "path": each.path} for each in rules],
        "may": list(may),
        **more,
    }


def show_row(session: Session, opened: Opened) -> dict[str, Any]:
    """Show one of a person's sessions; the names are those of the session that asks."""
    here = opened.identity.project
    name = here.name if session.project_id == here.id else None
    return {
        "id": session.name,
        "current": session.digest == opened.session.digest,
        "project": {"id": session.project_id, "name": name},
        "created": show_moment(session.created_at),
        "seen": show_moment(session.seen_at),
        "expires_at": show_moment(session.expires_at),
    }


def show_moment(moment: datetime) -> str:
    """Show a moment in UTC, to the second."""
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")
