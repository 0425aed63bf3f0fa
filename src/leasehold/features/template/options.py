"""The option of lease templates."""

from __future__ import annotations

from dataclasses import dataclass

from oslo_config import cfg

from leasehold.conf.options import Options


@dataclass(frozen=True, slots=True)
class TemplateSettings:
    """How many templates a project may have, and how many public ones there may be."""

    templates: int = 100


_TEMPLATES = cfg.IntOpt(
    "templates",
    default=TemplateSettings().templates,
    min=0,
    help="How many lease templates a project may have, and how many public ones there may be.",
)
OPTIONS = Options("manager", [_TEMPLATES], TemplateSettings, lambda manager: TemplateSettings(manager.templates))
