"""The base of all requests: unknown keys are never stored, and errors are sentences that name the field."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, TypeVar

from pydantic import BaseModel, ConfigDict, PrivateAttr, ValidationError
from typing_extensions import TypedDict

from leasehold.api.versions import Version
from leasehold.resource_types.fields import as_input_error
from leasehold.resource_types.unknown_keys import refuse_unknown

TEN_YEARS = 3_650 * 24 * 3_600
"""In seconds: the longest length that is asked about."""


class RequestModel(BaseModel):
    """The body of a request. Values are not converted between JSON types: "1" is not a number and 1 is not text.

    `since` says from which microversion on a key is read; before, it is ignored or refused like an unknown one.
    `instead` says by a required key which others may take its place; it is read as empty text then. `filled` says
    by a key that is filled (`api/additions.py`) which keys that may add, each with those that displace it; `added` are
    those that were added.
    """

    model_config = ConfigDict(extra="ignore", frozen=True, strict=True)
    since: ClassVar[Mapping[str, Version]] = {}
    instead: ClassVar[Mapping[str, tuple[str, ...]]] = {}
    filled: ClassVar[Mapping[str, Mapping[str, tuple[str, ...]]]] = {}
    _added: frozenset[str] = PrivateAttr(default=frozenset())

    def model_post_init(self, context: Any, /) -> None:
        """Keep the names of the keys that were added."""
        self._added = frozenset(context or ())

    @property
    def added(self) -> frozenset[str]:
        """The keys that are not the client's own."""
        return self._added


def one_of(words: Sequence[str]) -> Callable[[str], str]:
    """Return what raises ValueError, with all words, for a text that is none of them, and returns it otherwise."""

    def check(word: str) -> str:
        if word not in words:
            message = f"it has to be {' or '.join(map(repr, words))}"
            raise ValueError(message)
        return word

    return check


def answer(name: str, about: str, **keys: Any) -> Any:
    """Return the format of an answer that wraps another format, as a typed dictionary of this name with these keys."""
    made: Any = TypedDict(name, keys)  # type: ignore[misc]  # mypy knows literal ones only
    made.__doc__ = about
    return made


def _takes(value: object) -> bool:
    """Say whether the value of a key takes the place of another key."""
    return value is not None and value is not False


Model = TypeVar("Model", bound=RequestModel)


def read(
    model: type[Model],
    body: dict[str, Any],
    version: Version,
    *,
    strict: bool = False,
    added: Mapping[str, Any] | None = None,
) -> Model:
    """Return `body` as `model`; raises `MissingParameterError` for all absent keys, else `InvalidInputError`.

    `strict` refuses unknown keys first, with `UnknownKeysError`; without it they are ignored. `added` are keys
    that are added to the body.
    """
    body = {**body, **(added or {})}
    newer = {key for key, since in model.since.items() if since > version}
    if strict:
        refuse_unknown(model, body, without=newer)
    known = {key: value for key, value in body.items() if key not in newer}
    known = {key: "" for key, others in model.instead.items() if any(_takes(known.get(one)) for one in others)} | known
    try:
        return model.model_validate(known, context=added)
    except ValidationError as error:
        raise as_input_error(error) from error
