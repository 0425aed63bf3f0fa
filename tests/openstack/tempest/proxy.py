"""Port 80 for the plugin's API tests: they hard-code http://127.0.0.1/reservation and /compute."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from tests.openstack.cloud import CloudError
from tests.relay import Relay, listening

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_PORT = 80


@contextlib.contextmanager
def serving(routes: Mapping[str, str]) -> Iterator[None]:
    """Relay requests to http://127.0.0.1/NAME/... to the server of that name, until the block ends."""

    class ByName(Relay):
        def target(self) -> str | None:
            name, _, rest = self.path.lstrip("/").partition("/")
            return f"{routes[name]}/{rest}" if name in routes else None

    with contextlib.ExitStack() as stack:
        try:
            stack.enter_context(listening(ByName, _PORT))
        except OSError as error:
            raise CloudError(
                f"The API tests of blazar-tempest-plugin call http://127.0.0.1/reservation, so they need port {_PORT} "
                f"while they run, and it cannot be opened: {error.strerror}. Stop what listens there, or run as root."
            ) from error
        yield
