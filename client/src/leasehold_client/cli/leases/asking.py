"""Doing what was asked for; where the service refuses it, saying what would work, and on a terminal offering it."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from leasehold_client.cli.command.base import written
from leasehold_client.cli.output.columns import visible
from leasehold_client.errors import ApiError, ClientError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from leasehold_client.cli.command.base import Talking
    from leasehold_client.cli.leases.counter_offer import CounterOffer

Wish = TypeVar("Wish")
Done = TypeVar("Done")


def ask_for(
    command: Talking,
    wish: Wish,
    act: Callable[[Wish], Done],
    offered: Callable[[ApiError, Wish], Sequence[CounterOffer[Wish]]],
) -> Done:
    """Return what `act` returns for the wish, or for an offer that the person on the terminal takes.

    Raises ClientError with the sentence of the refusal and the commands that would work.
    """
    while True:
        try:
            return act(wish)
        except ApiError as error:
            offers = offered(error, wish)
            if not offers:
                raise
            taken = _choose(command, error, offers) if _on_terminal(command) else None
            if taken is None:
                raise ClientError(_sentence(command, error, offers)) from None
            # Somebody else may be quicker, and then the next refusal is offered in the same way.
            wish = taken.wish


def _choose(command: Talking, error: ApiError, offers: Sequence[CounterOffer[Wish]]) -> CounterOffer[Wish] | None:
    command.tell(str(error))
    for offer in offers:
        command.app.stderr.write(f"{visible(offer.sentence)} Take it? [y/N] ")
        command.app.stderr.flush()
        if command.app.stdin.readline().strip().lower() in ("y", "yes"):
            return offer
    return None


def _on_terminal(command: Talking) -> bool:
    return command.app.stdin.isatty() and command.app.stderr.isatty()


def _sentence(command: Talking, error: ApiError, offers: Sequence[CounterOffer[Wish]]) -> str:
    lines = [str(error), *(f"{offer.sentence}\n  {written(command, offer.words)}" for offer in offers)]
    return "\n".join(lines)
