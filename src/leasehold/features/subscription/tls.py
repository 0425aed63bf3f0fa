"""TLS to receivers and to the mail server: certificates are checked, and belong to the name that was asked for."""

from __future__ import annotations

import ssl
from functools import lru_cache


@lru_cache(maxsize=4)
def tls_context(cafile: str | None) -> ssl.SSLContext:
    """Return a context that trusts the authorities in a file, or with None those of the system."""
    return ssl.create_default_context(cafile=cafile)
