"""The sandbox's actions: they run as everywhere, and can be made to fail."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leasehold.cloud.sandbox.faults import verb
from leasehold.cloud.sandbox.port import Port

if TYPE_CHECKING:
    from collections.abc import Callable


class SandboxActions(Port):
    """Implements `ports.Actions`."""

    group = "actions"

    @verb
    def perform(self, what: str, action: Callable[[], None]) -> None:  # noqa: ARG002 - only a dry run needs the words
        """Run `action`."""
        action()
