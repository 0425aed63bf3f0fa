"""The rules about lease templates."""

from __future__ import annotations

from leasehold.api.policies.base import ADMIN, MEMBER_OR_ADMIN, READER_OR_ADMIN, rule

GET = "leasehold:templates:get"
POST = "leasehold:templates:post"
PUT = "leasehold:templates:put"
DELETE = "leasehold:templates:delete"
PUBLIC = "leasehold:templates:public"

_ALL, _ONE = "/v1/lease-templates", "/v1/lease-templates/{template_id}"
_MAKER_OR_MANAGER = (
    "(rule:project_member_api and user_id:%(user_id)s) or (role:manager and project_id:%(project_id)s) or rule:admin"
)
"""Who made it and is a member still, a manager of its project, or an administrator."""

RULES = [
    rule(
        GET,
        READER_OR_ADMIN,
        "Show the lease templates of a project and the public ones, and use them in a request (`template`); only "
        "administrators list those of all projects.",
        f"GET {_ALL}",
        f"GET {_ONE}",
    ),
    rule(POST, MEMBER_OR_ADMIN, "Make a lease template for a project.", f"POST {_ALL}"),
    rule(
        PUT,
        _MAKER_OR_MANAGER,
        "Change a lease template of a project: its maker, a manager of the project, or an administrator.",
        f"PUT {_ONE}",
    ),
    rule(
        DELETE,
        _MAKER_OR_MANAGER,
        "Delete a lease template of a project: its maker, a manager of the project, or an administrator.",
        f"DELETE {_ONE}",
    ),
    rule(
        PUBLIC,
        ADMIN,
        "Make a lease template that every project sees and uses (`public`), and change or delete such a one.",
        f"POST {_ALL}",
        f"PUT {_ONE}",
        f"DELETE {_ONE}",
    ),
]
