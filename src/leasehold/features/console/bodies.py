"""The bodies that the console's pages send."""

from __future__ import annotations

from typing import Annotated

from pydantic import ConfigDict, Field

from leasehold.api.models.base import RequestModel
from leasehold.model.errors import InvalidInputError

Word = Annotated[str, Field(min_length=1, max_length=255)]
Secret = Annotated[str, Field(min_length=1, max_length=4096)]


class Body(RequestModel):
    """What a page sends; its errors show no value."""

    model_config = ConfigDict(hide_input_in_errors=True)


class Password(Body):
    """A user's name, domain and password, and the id of the project to work in.

    `new_password` takes the place of the password if Keystone says that it has expired, and is not used otherwise.
    """

    user: Word
    password: Secret = Field(repr=False)
    new_password: Secret | None = Field(default=None, repr=False)
    domain: Word | None = None
    project: Word | None = None


class Totp(Body):
    """The second factor: a passcode, with the receipt of the first."""

    receipt: Secret = Field(repr=False)
    user_id: Word
    passcode: Secret = Field(repr=False)
    project: Word | None = None


class PastedToken(Body):
    """A Keystone token that the person has."""

    token: Secret = Field(repr=False)
    project: Word | None = None


class ApplicationCredential(Body):
    """An application credential by its id, or by its name and its user."""

    secret: Secret = Field(repr=False)
    id: Word | None = None
    name: Word | None = None
    user: Word | None = None
    domain: Word | None = None


class ActAs(Body):
    """Whom a person of the `none` strategy acts as."""

    user: Word
    project: Word
    roles: Annotated[list[Word], Field(max_length=32)]


class SignIn(Body):
    """One way to sign in."""

    password: Password | None = None
    totp: Totp | None = None
    token: PastedToken | None = None
    application_credential: ApplicationCredential | None = None
    act_as: ActAs | None = None

    @property
    def way(self) -> Body:
        """The way that was sent; raises InvalidInputError unless it is one."""
        ways: dict[str, Body] = {
            name: value for name in type(self).model_fields if (value := getattr(self, name)) is not None
        }
        if len(ways) != 1:
            names = ", ".join(type(self).model_fields)
            raise InvalidInputError(f"Send one way to sign in, and not {len(ways)}. The ways are: {names}.")
        return next(iter(ways.values()))


class ProjectChoice(Body):
    """The id of the project to work in from now on."""

    project: Word
