"""The console's paths, and how much is read of what is sent to them."""

from __future__ import annotations

from typing import Final

ROOT: Final = "/console"
API: Final = f"{ROOT}/v1/"
"""Below it are the routes of `/v1`, and the session's cookie is the credential."""
SIGN_IN: Final = frozenset({f"{ROOT}/session", f"{ROOT}/session/project", f"{ROOT}/sso"})
"""What is sent with a body and without a credential in the headers."""
LONGEST_BODY: Final = 64 * 1024
"""Most bytes of such a body."""
