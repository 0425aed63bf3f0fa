"""What is wrong with the configuration, in words for the operator."""

from __future__ import annotations

LONE_DOLLAR = "a $ in a value, as in a password, refers to another option, and none has that name. Write it as $$."
"""What is wrong when oslo.config does not find an option that it was never asked for."""


class ConfigurationError(Exception):
    """The service cannot start with these settings; the message says which one to change and how."""
