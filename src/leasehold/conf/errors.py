"""Errors of the configuration, with messages for the operator."""

from __future__ import annotations

LONE_DOLLAR = "a $ in a value, as in a password, refers to another option, and none has that name. Write it as $$."
"""The cause when oslo.config does not find an option that no code has asked for."""


class ConfigurationError(Exception):
    """The service cannot start with these settings; the message says which one to change and how."""


def unusable(what: str) -> ConfigurationError:
    """Return the error of a value that cannot be used; `what` says which, why, and what to write."""
    return ConfigurationError(f"The configuration cannot be used: {what}")
