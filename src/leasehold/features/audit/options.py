"""Options of the periodic audit."""

from __future__ import annotations

from dataclasses import dataclass

from oslo_config import cfg

from leasehold.conf.options import Options


@dataclass(frozen=True, slots=True)
class AuditSettings:
    """How often a round begins, and the pause after each lease in it; in seconds."""

    audit_seconds: float = 600.0
    audit_pause_seconds: float = 0.1


_OPTIONS = [
    cfg.FloatOpt(
        "audit_seconds",
        min=0.0,
        help="Seconds between two audit rounds. In a round one of the managers compares the cloud with the database, "
        "repairs manual changes, and logs them; 0 means no audit.",
    ),
    cfg.FloatOpt(
        "audit_pause_seconds",
        min=0.0,
        help="Pause, in seconds, after each lease in an audit round, which limits the load of the cloud. A round has "
        "one pause for each lease.",
    ),
]
OPTIONS = Options("manager", _OPTIONS, AuditSettings)
