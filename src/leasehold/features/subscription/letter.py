"""What an e-mail says: templates of Jinja2, which an operator can replace (decision 0042).

Templates are the operator's, what they show is not: each text is one line and not long when a template gets it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from jinja2 import ChoiceLoader, Environment, FileSystemLoader, PackageLoader, StrictUndefined, TemplateError

from leasehold.features.subscription.channel import DeliveryError

if TYPE_CHECKING:
    from leasehold.features.subscription.model import Subscription
    from leasehold.model.event_log import LogEvent

LONGEST_SUBJECT = 200
LONGEST_TEXT = 200
"""Of one value, in characters: members of projects choose names."""
EVERY, OF_ALARM, OF_SERVER = "event.txt", "alarm.txt", "server.txt"


@dataclass(frozen=True, slots=True)
class Letter:
    """What is written: a subject of one line, and a text."""

    subject: str
    text: str


def write_letter(event: LogEvent, subscription: Subscription, templates: str | None) -> Letter:
    """Return the letter about an event: the first line that the template gives is the subject, the rest the text.

    The template is `TYPE.txt`, or else `alarm.txt` for a capacity alarm, `server.txt` for a server and `event.txt` for
    all others, from the operator's folder or else from the service. Raises DeliveryError if it cannot be used.
    """
    shown = {
        "event": {"id": str(event.cursor), "type": event.type, "time": event.time, "project_id": event.project_id},
        "lease": tidy(event.payload) if event.lease_id else None,
        "resource": tidy(event.payload) if event.resource_id else None,
        "alarm": tidy(event.payload) if event.alarm_id else None,
        "server": tidy(event.payload) if event.server_id else None,
        "subscription": {key: tidy(getattr(subscription, key)) for key in ("id", "user_id", "project_id")},
    }
    try:
        names = [f"{event.type}.txt", OF_ALARM if event.alarm_id else OF_SERVER if event.server_id else EVERY]
        text = _environment(templates).select_template(names).render(shown)
    except (TemplateError, OSError, TypeError, ValueError, ArithmeticError, LookupError, AttributeError) as error:
        message = "The service's template for this event cannot be used. An operator has to mend that."
        raise DeliveryError(message) from error
    subject, _, rest = text.lstrip().partition("\n")
    return Letter(one_line(subject, LONGEST_SUBJECT), rest.strip() + "\n")


def one_line(text: str, most: int = LONGEST_TEXT) -> str:
    """Return the text as one line of characters that can be seen, cut to a length."""
    seen = "".join(each if each.isprintable() else " " for each in text)
    line = " ".join(seen.split())
    return line if len(line) <= most else f"{line[: most - 1]}…"


def tidy(value: Any) -> Any:
    """Return a JSON value with each of its texts as one line."""
    if isinstance(value, str):
        return one_line(value)
    if isinstance(value, dict):
        return {one_line(key): tidy(each) for key, each in value.items()}
    return [tidy(each) for each in value] if isinstance(value, list) else value


@lru_cache(maxsize=2)
def _environment(templates: str | None) -> Environment:
    ours = PackageLoader("leasehold.features.subscription")
    loader = ours if templates is None else ChoiceLoader([FileSystemLoader(templates), ours])
    # Plain text, so nothing is escaped.
    # No cache, which would not notice a file that is new in the folder.
    return Environment(  # noqa: S701
        loader=loader, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, cache_size=0
    )
