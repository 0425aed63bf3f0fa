"""What is wrong with the configuration, in words for the operator."""

from __future__ import annotations


class ConfigurationError(Exception):
    """The service cannot start with these settings; the message says which one to change and how."""
