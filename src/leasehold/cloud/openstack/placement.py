"""Placement: providers, inventories, resource classes and traits.

A provider has a generation, and a write names the generation that it has read. Nova writes to the same trees, so
conflicts are normal: read again, write again.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import asdict
from http import HTTPStatus
from threading import Lock
from typing import TYPE_CHECKING, Any
from urllib.parse import quote
from uuid import UUID, uuid5

import tenacity

from leasehold.cloud.openstack import claims
from leasehold.cloud.openstack.remembered import Remembered
from leasehold.cloud.ports import CloudPermanentError, CloudTransientError, Inventory

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from requests import Response

    from leasehold.cloud.openstack.rest import ServiceClient

VERSION = "1.29"
"""Nested providers came with 1.14, answers with bodies with 1.20, error codes with 1.23."""
CUSTOM = "CUSTOM_"
CONFLICTING_ATTEMPTS = 8
_FIELDS = tuple(Inventory.__dataclass_fields__)
_NOT_FOUND = (HTTPStatus.NOT_FOUND,)
_CONFLICT = (HTTPStatus.CONFLICT,)


class _GenerationConflictError(CloudTransientError):
    """Another client has written to the provider since it was read."""


_until_it_holds = tenacity.retry(
    retry=tenacity.retry_if_exception_type(_GenerationConflictError),
    stop=tenacity.stop_after_attempt(CONFLICTING_ATTEMPTS),
    wait=tenacity.wait_random_exponential(0.05, max=1.0),
    reraise=True,
)


class OpenStackProviders:
    """Implements `ports.Providers`."""

    def __init__(self, placement: ServiceClient) -> None:
        self._placement = placement
        self._seen: Remembered[Mapping[str, Any]] = Remembered()
        self._contents: Remembered[tuple[Mapping[str, Inventory], int]] = Remembered()
        self._turns: defaultdict[str, Lock] = defaultdict(Lock)

    def names(self) -> frozenset[str]:
        """Return the names of all providers."""
        rows = self._placement.get("providers.names", "/resource_providers", VERSION)["resource_providers"]
        return frozenset(row["name"] for row in rows)

    def classes(self) -> frozenset[str]:
        """Return all resource classes, standard and custom."""
        rows = self._placement.get("providers.classes", "/resource_classes", VERSION)["resource_classes"]
        return frozenset(row["name"] for row in rows)

    def inventories(self, provider: str) -> Mapping[str, Inventory]:
        """Return the provider's inventories by resource class; raises CloudPermanentError when it does not exist."""
        call = "providers.inventories"
        return self._inventories(call, self._known(call, provider)["uuid"], provider)[0]

    def traits(self, provider: str) -> frozenset[str]:
        """Return the provider's traits; raises CloudPermanentError when it does not exist."""
        call = "providers.traits"
        path = f"{_path(self._known(call, provider))}/traits"
        return frozenset(self._placement.get(call, path, VERSION)["traits"])

    def usages(self, provider: str) -> Mapping[str, int]:
        """Return how much of each resource class consumers have of the provider."""
        call = "providers.usages"
        found = self._find(call, provider)
        used = self._placement.get(call, f"{_path(found)}/usages", VERSION)["usages"] if found else {}
        return {name: amount for name, amount in used.items() if amount}

    def ensure_child(self, parent: str, name: str) -> None:
        """Make sure `name` is a child of `parent`.

        Raises CloudPermanentError when the parent does not exist, or `name` exists with another parent.
        """
        call = "providers.ensure_child"
        parent_id = (self._seen.get(parent) or self._known(call, parent))["uuid"]
        found = self._seen.get(name) or self._find(call, name)
        if found is None:
            # A child that is created again gets the same id: nova-compute caches a host's tree for minutes, and cannot
            # update a second child with the name but another id.
            body = {"name": name, "uuid": str(uuid5(UUID(parent_id), name)), "parent_provider_uuid": parent_id}
            self._placement.call(call, "POST", "/resource_providers", VERSION, json=body, fine=_CONFLICT)
            found = self._known(call, name)
        if found["parent_provider_uuid"] != parent_id:
            raise CloudPermanentError(f"placement {call}: {name} has another parent than {parent}")

    def delete(self, name: str) -> None:
        """Delete a provider with its inventories; raises CloudTransientError while it has children or is in use."""
        call = "providers.delete"
        found = self._find(call, name)
        if found is not None:
            self._placement.call(call, "DELETE", _path(found), VERSION, fine=_NOT_FOUND)
            self._seen.forget(name)
            self._contents.forget(name)

    def ensure_class(self, resource_class: str) -> None:
        """Make sure a custom resource class exists; raises CloudPermanentError unless its name starts with CUSTOM_."""
        call = "providers.ensure_class"
        _check_custom(call, resource_class)
        self._placement.call(call, "PUT", _class_path(resource_class), VERSION)

    def delete_class(self, resource_class: str) -> None:
        """Delete a custom resource class; raises CloudConflictError while a provider has an inventory of it."""
        call = "providers.delete_class"
        _check_custom(call, resource_class)
        self._placement.call(call, "DELETE", _class_path(resource_class), VERSION, fine=_NOT_FOUND)

    @_until_it_holds
    def set_inventory(self, provider: str, resource_class: str, inventory: Inventory) -> None:
        """Set the provider's inventory of the class; raises CloudPermanentError for an unknown provider or class.

        What was written a moment ago is not read again: if somebody has written since, the generation is another one.
        """
        call = "providers.set_inventory"
        # Of two writes at the same time one would be refused.
        with self._turns[provider]:
            found = self._seen.get(provider) or self._known(call, provider)
            path = f"{_path(found)}/inventories"
            known = self._contents.get(provider)
            if known is None or known[0].get(resource_class) == inventory:
                known = self._inventories(call, found["uuid"], provider)
            there, generation = known
            if there.get(resource_class) == inventory:
                return
            self._contents.forget(provider)
            body = {**asdict(inventory), "resource_provider_generation": generation}
            if resource_class in there:
                answer = self._write(call, "PUT", f"{path}/{resource_class}", body, provider)
            else:
                answer = self._write(call, "POST", path, {**body, "resource_class": resource_class}, provider)
            now = {**there, resource_class: inventory}, answer.json()["resource_provider_generation"]
            self._contents.see(provider, now)

    @_until_it_holds
    def remove_inventory(self, provider: str, resource_class: str) -> None:
        """Remove the provider's inventory of the class; raises CloudTransientError while servers use it."""
        call = "providers.remove_inventory"
        found = self._find(call, provider)
        if found is not None:
            self._write(call, "DELETE", f"{_path(found)}/inventories/{resource_class}", None, provider)

    @_until_it_holds
    def claim_rest(self, provider: str) -> frozenset[str]:
        """Claim all that is left of the provider; return the other consumers.

        Whoever claims something in the meantime makes the claim of all that was left impossible, so the answer of a
        claim that held is complete.
        """
        call = "providers.claim_rest"
        found = self._seen.get(provider) or self._find(call, provider)
        if found is None:
            return frozenset()
        uuid = found["uuid"]
        inventories, _ = self._inventories(call, uuid, provider)
        there = self._allocations(call, uuid)
        self._allocate(call, provider, claims.to_claim(uuid, inventories, there))
        return frozenset(there.keys() - claims.consumers(uuid))

    @_until_it_holds
    def release_claims(self, provider: str) -> None:
        """Remove our claims from the provider, all of them in one write."""
        call = "providers.release_claims"
        found = self._seen.get(provider) or self._find(call, provider)
        if found is not None:
            there = self._allocations(call, found["uuid"])
            self._allocate(call, provider, claims.to_release(found["uuid"], there))

    def claimed(self, providers: Collection[str]) -> frozenset[str]:
        """Return those of the providers that have claims of ours; one call if the cloud has no claims at all."""
        call = "providers.claimed"
        query = {"project_id": claims.OWNER, "consumer_type": claims.CONSUMER_TYPE}
        if not providers or not self._placement.get(call, "/usages", claims.VERSION, query)["usages"]:
            return frozenset()
        return frozenset(name for name in providers if self._is_claimed(call, name))

    def _is_claimed(self, call: str, provider: str) -> bool:
        found = self._find(call, provider)
        return found is not None and bool(
            claims.consumers(found["uuid"]) & self._allocations(call, found["uuid"]).keys()
        )

    def _allocations(self, call: str, uuid: str) -> Mapping[str, Any]:
        path = f"/resource_providers/{uuid}/allocations"
        found = self._placement.get(call, path, claims.VERSION, none_on=_NOT_FOUND)
        return found["allocations"] if found else {}

    def _allocate(self, call: str, provider: str, body: Mapping[str, Any]) -> None:
        """Write allocations of several consumers, all or none; raises _GenerationConflictError if others were first."""
        if not body:
            return
        response = self._placement.call(call, "POST", "/allocations", claims.VERSION, json=body, fine=_CONFLICT)
        if response.status_code == HTTPStatus.CONFLICT:
            detail = response.json()["errors"][0]["detail"].strip()
            raise _GenerationConflictError(f"placement {call}: provider {provider}: {detail}")

    def _write(self, call: str, method: str, path: str, body: Mapping[str, Any] | None, provider: str) -> Response:
        """Write to a provider's inventories; raises _GenerationConflictError for a stale generation."""
        fine = (HTTPStatus.CONFLICT, *(_NOT_FOUND if method == "DELETE" else ()))
        response = self._placement.call(call, method, path, VERSION, json=body, fine=fine)
        if response.status_code != HTTPStatus.CONFLICT:
            return response
        error = response.json()["errors"][0]
        text = f"placement {call}: provider {provider}: {error['detail'].strip()}"
        conflicting = error.get("code") == "placement.concurrent_update"
        raise _GenerationConflictError(text) if conflicting else CloudTransientError(text)

    def _inventories(self, call: str, uuid: str, provider: str) -> tuple[dict[str, Inventory], int]:
        """Return the inventories, and the provider's generation; raises CloudTransientError if it is no more."""
        found = self._placement.get(call, f"/resource_providers/{uuid}/inventories", VERSION, none_on=_NOT_FOUND)
        if found is None:
            self._seen.forget(provider)
            raise CloudTransientError(f"placement {call}: there is no provider {provider} any longer")
        inventories = {
            name: Inventory(**{field: row[field] for field in _FIELDS}) for name, row in found["inventories"].items()
        }
        return inventories, found["resource_provider_generation"]

    def _find(self, call: str, name: str) -> Mapping[str, Any] | None:
        rows = self._placement.get(call, "/resource_providers", VERSION, {"name": name})["resource_providers"]
        row = next((row for row in rows if row["name"] == name), None)
        if row is None:
            self._seen.forget(name)
            return None
        return self._seen.see(name, row)

    def _known(self, call: str, name: str) -> Mapping[str, Any]:
        found = self._find(call, name)
        if found is None:
            raise CloudPermanentError(f"placement {call}: there is no provider {name}")
        return found


def _path(provider: Mapping[str, Any]) -> str:
    return f"/resource_providers/{provider['uuid']}"


def _class_path(resource_class: str) -> str:
    return f"/resource_classes/{quote(resource_class, safe='')}"


def _check_custom(call: str, resource_class: str) -> None:
    if not resource_class.startswith(CUSTOM):
        raise CloudPermanentError(f"placement {call}: {resource_class} does not start with {CUSTOM}")
