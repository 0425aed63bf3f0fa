"""Rules about floating IPs."""

from __future__ import annotations

from leasehold.api.policies.base import ADMIN, READER_OR_ADMIN, Rule

GET = Rule("blazar:floatingips:get", READER_OR_ADMIN, "List floating IPs, or show one.", was_open=True)
POST = Rule("blazar:floatingips:post", ADMIN, "Enrol a floating IP.")
DELETE = Rule("blazar:floatingips:delete", ADMIN, "Remove a floating IP.")
