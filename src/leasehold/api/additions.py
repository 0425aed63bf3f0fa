"""Keys of a body that name what adds further keys, such as a lease template: they are added before the body is read.

So one place serves all routes whose model has such a key, and what is added is checked as if the client had sent it.
"""

from __future__ import annotations

import re
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from leasehold.api import versions
from leasehold.model.errors import LeaseholdError, UnknownKeysError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from leasehold.api.call import Call
    from leasehold.api.models.base import RequestModel


@contextmanager
def filled(call: Call, model: type[RequestModel], sent: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield what is added to a body, and have an error about that name it as part of what has added it.

    Raises the errors of what adds them, and UnknownKeysError for a key for which no feature adds anything.
    """
    added: dict[str, Mapping[str, Any]] = {}
    for key, wanted in model.filled.items():
        if key in sent and call.version >= model.since.get(key, versions.MINIMUM):
            if key not in call.api.additions:
                raise UnknownKeysError([key], model.model_fields.keys() - {key})
            added[key] = call.api.additions[key](call, sent, wanted)
    try:
        yield {name: value for each in added.values() for name, value in each.items()}
    except LeaseholdError as error:
        first = re.split(r"[.\[]", error.field or "", maxsplit=1)[0]
        for key, each in added.items():
            if first in each:
                raise error.under(key) from None
        raise
