"""Feature J5: the heal policy of a lease, from microversion 1.2 on; before, the key is unknown and ignored."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.api.test_leases import MAKE, made, make

if TYPE_CHECKING:
    from tests.api.conftest import Client

POLICIES = ("replace", "replace-before-start", "ask", "never", "default")


@pytest.fixture
def new(client: Client) -> Client:
    return client.but(version="1.2")


def shown(client: Client, lease: dict[str, Any]) -> Any:
    return client.ask("GET", f"/v1/leases/{lease['id']}").json["lease"].get("heal_policy", "not shown")


@pytest.mark.parametrize("policy", POLICIES)
def test_a_policy_is_kept_shown_and_changed(new: Client, policy: str) -> None:
    lease = made(new, heal_policy=policy)
    assert (lease["heal_policy"], shown(new, lease)) == (policy, policy)
    for change, then in (("never", "never"), (None, "never"), (policy, policy)):
        answer = new.ask("PUT", f"/v1/leases/{lease['id']}", {"heal_policy": change})
        assert (answer.status_code, answer.json["lease"]["heal_policy"]) == (200, then)
    assert [each["heal_policy"] for each in new.ask("GET", "/v1/leases").json["leases"]] == [policy]


def test_without_a_choice_it_is_the_operators_default(new: Client) -> None:
    assert made(new)["heal_policy"] == made(new, heal_policy=None)["heal_policy"] == "default"


def test_the_refusal_of_another_word_names_those_that_exist(new: Client) -> None:
    answer = make(new, heal_policy="asks")
    assert (answer.status_code, answer.json["field"]) == (400, "heal_policy")
    assert all(repr(word) in answer.json["error_message"] for word in POLICIES)


@pytest.mark.parametrize("version", [None, "1.0", "1.1"])
@pytest.mark.parametrize("value", ["never", "nonsense", 7])
def test_older_versions_neither_read_nor_show_it(client: Client, new: Client, version: str | None, value: Any) -> None:
    old = client.but(version=version)
    lease = made(old, heal_policy=value)
    assert old.ask("PUT", f"/v1/leases/{lease['id']}", {"heal_policy": value, "name": "m"}).status_code == 200
    assert (shown(old, lease), shown(new, lease)) == ("not shown", "default")


def test_a_repeated_key_comes_with_the_same_policy(new: Client) -> None:
    """A request without a policy has the digest that an older version gave it."""
    headers = {"Idempotency-Key": "one"}
    first = new.ask("POST", "/v1/leases", MAKE, headers=headers)
    again = new.but(version="1.0").ask("POST", "/v1/leases", {**MAKE, "heal_policy": "never"}, headers=headers)
    other = new.ask("POST", "/v1/leases", {**MAKE, "heal_policy": "never"}, headers=headers)
    assert [first.status_code, again.status_code, other.status_code] == [201, 201, 409]
    assert again.json["lease"]["id"] == first.json["lease"]["id"]
