"""The error of the cloud; its message is for the person who started it."""

from __future__ import annotations


class CloudError(Exception):
    """The cloud cannot be installed, started or used; the message says what to do."""
