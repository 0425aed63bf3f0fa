"""The option of lease templates."""

from __future__ import annotations

from dataclasses import dataclass

from leasehold.conf.options import count_option


@dataclass(frozen=True, slots=True)
class TemplateSettings:
    """How many templates a project may have, and how many public ones there may be."""

    templates: int = 100


OPTIONS = count_option(
    TemplateSettings,
    "How many lease templates a project may have, and how many public ones there may be.",
)
