"""The fake Keystone with people who sign in: passwords, a second factor, application credentials, projects."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from tests.api.keystone.server import SERVICES_OWN, Keystone

if TYPE_CHECKING:
    from collections.abc import Mapping

    Reply = tuple[int, dict[str, str], Any]

NO = "The request you have made requires authentication."


class _RefusedError(Exception):
    def __init__(self, message: str = NO, status: int = 401) -> None:
        super().__init__(message)
        self.status = status


@dataclass(frozen=True)
class Person:
    """A user, with the roles in each project."""

    name: str
    password: str
    roles: Mapping[str, tuple[str, ...]]
    passcode: str | None = None
    expired: bool = False
    default: str | None = None
    """The project for which Keystone issues a token to whoever does not say `unscoped`."""


@dataclass
class Credential:
    """An application credential."""

    secret: str
    person: Person
    project: str
    access_rules: list[dict[str, str]] | None = None


@dataclass
class People(Keystone):
    """Answers as Keystone does to people who sign in, and notes which tokens it issued and revoked."""

    people: dict[str, Person] = field(default_factory=dict)
    credentials: dict[str, Credential] = field(default_factory=dict)
    receipts: dict[str, Person] = field(default_factory=dict)
    lasting: timedelta = timedelta(hours=1)
    rescopes_scoped: bool = True
    refuses: frozenset[str] = frozenset()
    """Projects that are listed and for which no token is issued."""
    revoked: list[str] = field(default_factory=list)
    sent: list[dict[str, Any]] = field(default_factory=list)
    """What was asked for a token."""
    now: datetime | None = None

    def add(self, name: str, password: str, roles: Mapping[str, tuple[str, ...]], **more: Any) -> Person:
        """Add a person."""
        self.people[name] = person = Person(name, password, roles, **more)
        return person

    def federated(self, name: str) -> str:
        """Return an unscoped token, as an identity provider's user gets."""
        return self._issued(self.people[name], None)

    def answer(self, method: str, path: str, headers: Mapping[str, str], body: bytes = b"") -> Reply:
        """Return status, headers and body."""
        lower = {name.lower(): value for name, value in headers.items()}
        auth = json.loads(body)["auth"] if method == "POST" and path.startswith("/v3/auth/tokens") else None
        service = auth is not None and auth["identity"].get("password", {}).get("user", {}).get("name") == "leasehold"
        caller, subject = lower.get("x-auth-token", ""), lower.get("x-subject-token", "")
        ours = path.startswith(("/v3/auth/", "/v3/users/"))
        if self.failing is not None or not ours or service or caller == SERVICES_OWN:
            return super().answer(method, path, headers, body)
        try:
            if path.endswith("/password"):
                return self._change(path, json.loads(body)["user"])
            if auth is not None:
                self.sent.append(auth)
                return self._sign_in(auth, lower)
            return self._ask(method, path, caller, subject)
        except _RefusedError as error:
            message = {"error": {"code": error.status, "title": "No", "message": str(error)}}
            return error.status, {}, message

    def _change(self, path: str, asked: Mapping[str, str]) -> Reply:
        """Change a password, for which Keystone wants no token."""
        person = self.people.get(path.split("/")[3].removeprefix("user-of-"))
        if person is None or asked["original_password"] != person.password:
            raise _RefusedError
        if len(asked["password"]) < 7:
            raise _RefusedError("The password does not match the requirements: at least 7 characters.", 400)
        self.people[person.name] = replace(person, password=asked["password"], expired=False)
        return 204, {}, None

    def _ask(self, method: str, path: str, caller: str, subject: str) -> Reply:
        if caller not in self.tokens:
            raise _RefusedError
        if path.startswith("/v3/auth/projects"):
            return 200, {}, {"projects": self._projects(self.tokens[caller]["user"]["name"])}
        if subject not in self.tokens:
            raise _RefusedError(status=404)
        if method == "DELETE":
            del self.tokens[subject]
            self.revoked.append(subject)
            return 204, {}, None
        return 200, {"X-Subject-Token": subject}, {"token": self.tokens[subject]}

    def _projects(self, name: str) -> list[dict[str, Any]]:
        mine = [{"id": key, "name": f"name-of-{key}", "enabled": True} for key in self.people[name].roles]
        return [*mine, {"id": "off", "name": "a-closed-one", "enabled": False}]

    def _sign_in(self, auth: dict[str, Any], headers: Mapping[str, str]) -> Reply:
        identity = auth["identity"]
        if "token" in identity:
            return self._rescoped(identity["token"]["id"], auth.get("scope"))
        if "application_credential" in identity:
            return self._by_credential(identity["application_credential"])
        if "totp" in identity:
            return self._token(self._by_passcode(identity["totp"]["user"], headers), auth.get("scope"))
        user = identity["password"]["user"]
        person = self.people.get(user["name"])
        if person is None or user["domain"]["name"] != "Default" or user["password"] != person.password:
            raise _RefusedError
        if person.expired:
            raise _RefusedError(f"The password is expired and needs to be changed for user: user-of-{person.name}.")
        return self._token(person, auth.get("scope")) if person.passcode is None else self._receipt(person)

    def _by_passcode(self, user: dict[str, str], headers: Mapping[str, str]) -> Person:
        person = self.receipts.get(headers.get("openstack-auth-receipt", ""))
        if person is None or (user["id"], user["passcode"]) != (f"user-of-{person.name}", person.passcode):
            raise _RefusedError
        return person

    def _receipt(self, person: Person) -> Reply:
        receipt = f"receipt-{uuid4()}"
        self.receipts[receipt] = person
        until = (datetime.now(UTC) + timedelta(minutes=5)).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        user = {"id": f"user-of-{person.name}", "name": person.name}
        document = {"methods": ["password"], "user": user, "expires_at": until}
        body = {"receipt": document, "required_auth_methods": [["password", "totp"]]}
        return 401, {"Openstack-Auth-Receipt": receipt}, body

    def _by_credential(self, sent: dict[str, Any]) -> Reply:
        key = sent.get("id") or f"{sent['user']['name']}/{sent['name']}"
        found = self.credentials.get(key)
        if found is None or found.secret != sent["secret"]:
            raise _RefusedError
        rules = {} if found.access_rules is None else {"access_rules": found.access_rules}
        token = self._issued(found.person, found.project, application_credential={"id": key, **rules})
        return 201, {"X-Subject-Token": token}, {"token": self.tokens[token]}

    def _rescoped(self, before: str, scope: Any) -> Reply:
        document = self.tokens.get(before)
        if document is None:
            raise _RefusedError
        scoped = "project" in document
        if "application_credential" in document or (scoped and not self.rescopes_scoped):
            raise _RefusedError(status=403)
        person = self.people[document["user"]["name"]]
        return self._token(person, scope, expires_at=document["expires_at"])

    def _token(self, person: Person, scope: Any, **more: Any) -> Reply:
        project = person.default if scope is None else None
        if isinstance(scope, dict):
            project = scope["project"]["id"]
            if project not in person.roles or project in self.refuses:
                raise _RefusedError
        token = self._issued(person, project, **more)
        return 201, {"X-Subject-Token": token}, {"token": self.tokens[token]}

    def _issued(self, person: Person, project: str | None, **more: Any) -> str:
        roles = () if project is None else person.roles[project]
        token = f"{'scoped' if project else 'unscoped'}-{uuid4()}"
        if self.now is not None:
            until = (self.now + self.lasting).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
            more = {"expires_at": until, **more}
        return self.issue(person.name, *roles, project=project, lasting=self.lasting, token=token, **more)
