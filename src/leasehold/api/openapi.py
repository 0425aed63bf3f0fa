"""The OpenAPI 3.1 description, derived from the table of routes and the models, so that nothing is written twice."""

from __future__ import annotations

import re
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, TypeAdapter

from leasehold.api import request_ids, versions
from leasehold.api.router import LONGEST_WORD
from leasehold.conf import version
from leasehold.resource_types.capabilities import Capability, GivingUp, Outliving
from leasehold.resource_types.end_actions.chain import ACTIONS
from leasehold.resource_types.ending import EndingBody
from leasehold.resource_types.no_show import NoShowBody

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from leasehold.api.lease_field import LeaseField
    from leasehold.api.route import Route
    from leasehold.resource_types.driver import Driver
    from leasehold.resource_types.registry import ResourceTypes

JSON_TYPE = "application/json"
REFERENCE = "#/components/schemas/{model}"
PATH_WORD = re.compile(r"\{(\w+)\}")

SECURITY = {
    "http_basic": {"basic": {"type": "http", "scheme": "basic"}},
    "keystone": {"token": {"type": "apiKey", "in": "header", "name": "X-Auth-Token"}},
}
"""The security scheme of each authentication strategy; `none` has no scheme."""

TEXT = {"type": "string", "maxLength": LONGEST_WORD}
ID = {**TEXT, "pattern": "^[ -~]*$"}
SHOWN = (
    *("state", "health", "pool", "channel", "target", "hypervisor_hostname", "hypervisor_type", "availability_zone"),
    *("floating_ip_address", "floating_network_id", "subnet_id"),
)
SWITCHES = ("reservable", "disabled", "own", "public")
"""The keys by which lists are filtered that have no sentence of their own."""
PARAMETERS: Mapping[str, tuple[str, str, dict[str, Any]]] = {
    "lease_id": ("query", "Only what belongs to this lease, past allocations included", ID),
    "reservation_id": ("query", "Only allocations of this reservation, past ones included", ID),
    "detail": ("query", "`true`, before 1.3 any value: show values and privacy as well", {"type": "string"}),
    "all": ("query", "`true`, before 1.3 any value: show administrators the private ones as well", {"type": "string"}),
    "limit": (
        "query",
        "At most so many in one answer; of leases from 1.1 on, of other lists from 1.3 on",
        {"type": "integer", "minimum": 1, "maximum": 1000},
    ),
    "marker": (
        "query",
        "Only what follows the item with this id; of leases from 1.1 on, of other lists from 1.3 on",
        ID,
    ),
    "sort": (
        "query",
        "From 1.3 on: a key of the items, also with `:desc`, as `created_at:desc`",
        {"type": "string"},
    ),
    "after": ("query", "Only events after this `id` or `next`; `latest`: after the last one", {"type": "string"}),
    "wait": ("query", "Seconds to wait for an event", {"type": "integer", "minimum": 0, "maximum": 60}),
    "resource_type": ("query", "A resource type, by default `physical:host`", TEXT),
    "from": ("query", "The start of the window, by default now; of events the first moment", {"type": "string"}),
    "to": ("query", "The end of the window, by default a week after its start", {"type": "string"}),
    "resource_properties": ("query", "Only resources that match this expression", {"type": "string"}),
    "resource_id": ("query", "Only this resource, for callers who may list them", ID),
    "name": ("query", "From 1.3 on: only what has exactly this name", {"type": "string", "maxLength": 255}),
    "purpose": ("query", "From 1.3 on: only what has exactly this purpose", {"type": "string", "maxLength": 255}),
    "status": ("query", "From 1.3 on: only what has one of these statuses, by commas", {"type": "string"}),
    "type": ("query", "From 1.3 on: only events of one of these types, by commas", {"type": "string"}),
    "ends_after": ("query", "From 1.3 on: only what ends after this date", {"type": "string"}),
    "starts_before": ("query", "From 1.3 on: only what starts before this date", {"type": "string"}),
    "as_of": ("query", "From 1.3 on: show it as it was at this date, which is over", {"type": "string"}),
    "deleted": ("query", "From 1.3 on: only what was deleted and is not purged", {"type": "boolean"}),
    **{name: ("query", f"From 1.3 on: only what shows one of these as `{name}`, by commas", TEXT) for name in SHOWN},
    **{name: ("query", f"From 1.3 on: only what shows this as `{name}`", {"type": "boolean"}) for name in SWITCHES},
    "all_projects": ("query", "For administrators: of all projects, and of resources", {"type": "boolean"}),
    "Idempotency-Key": (
        "header",
        "The same key again gives the same lease; with PUT, from 1.3 on, it changes nothing again",
        {**TEXT, "pattern": "^[!-~]+$"},
    ),
    "If-None-Match": ("header", "The ETag of an answer that the client has", {"type": "string"}),
    "If-Match": ("header", "From 1.1 on: only if the lease still has this ETag", {"type": "string"}),
}

OF_TYPE: dict[str, Any] = {
    "name": "reservation",
    "in": "query",
    "description": "The keys of a reservation of the resource type, each a key of the query",
    "style": "form",
    "explode": True,
    "schema": {"type": "object", "additionalProperties": {"type": "string"}},
}

DESCRIPTION = f"""Reservations, microversions {versions.MINIMUM} to {versions.MAXIMUM}.

A request asks for one in `{versions.HEADER}: {versions.SERVICE_TYPE} VERSION`; without it {versions.DEFAULT} is served.

## What each microversion brought

{versions.history("###")}"""

ERROR: dict[str, Any] = {
    "type": "object",
    "description": "What went wrong, in a sentence, and a code that never changes.",
    "required": ["error_message", "code"],
    "properties": {
        "error_code": {"type": "integer"},
        "error_message": {"type": "string"},
        "error_name": {"type": ["integer", "string"]},
        "error": {"type": ["integer", "object"], "description": "The status; in a 401 an object in Keystone's form"},
        "code": {"type": "string"},
        "field": {"type": "string", "description": "The key of the request that caused the error"},
        "details": {"type": "object"},
    },
    "additionalProperties": False,
}


def describe(
    routes: Iterable[Route], types: ResourceTypes, auth_strategy: str, lease_fields: Sequence[LeaseField] = ()
) -> dict[str, Any]:
    """Return the document; `types` are the resource types that are switched on, `lease_fields` keys of features."""
    table = list(routes)
    schemas, references = _schemas(table, types, lease_fields)
    paths: dict[str, dict[str, Any]] = {}
    for route in table:
        paths.setdefault(route.path, {})[route.method.lower()] = _operation(route, references)
    security = SECURITY.get(auth_strategy, {})
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Leasehold",
            "version": version(),
            "description": DESCRIPTION,
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "servers": [{"url": "/"}],
        "paths": paths,
        "components": {"schemas": schemas, "securitySchemes": security},
        "security": [{name: []} for name in security],
    }


def _operation(route: Route, references: Mapping[Any, Any]) -> dict[str, Any]:
    operation: dict[str, Any] = {
        "operationId": f"{_noun(route)}_{route.handler.__name__}{_suffix(route)}",
        "summary": route.summary,
        "parameters": _parameters(route),
        "responses": {str(int(route.success)): _success(route, references), **_failures(route)},
    }
    if "If-None-Match" in route.headers:
        operation["responses"]["304"] = {"description": "Nothing has changed since that ETag"}
    if route.request is not None and "dry_run" in route.request.model_fields:
        tried = {**_success(route, references), "description": "After a dry run: what would happen"}
        operation["responses"].setdefault(str(int(HTTPStatus.OK)), tried)
    rules = f"\n\nPolicy: {', '.join(map(str, route.rules))}." if route.rules else ""
    operation["description"] = route.description + rules
    if route.public:
        operation["security"] = []
    if route.request is not None:
        operation["requestBody"] = {"required": True, "content": {JSON_TYPE: {"schema": references[route.request]}}}
    return operation


def _noun(route: Route) -> str:
    """Return the name of the handler's module, or of its feature."""
    return route.handler.__module__.removesuffix(".api").rpartition(".")[2]


def _suffix(route: Route) -> str:
    """Return a suffix that makes the operation ids of handlers with two paths unique."""
    if route.path == "/":
        return "_at_root"
    return "_of_type" if route.path.startswith("/v1/resources/") else ""


def _parameters(route: Route) -> list[dict[str, Any]]:
    # Ids are printable ASCII; the name of a property may have any printable characters.
    words: list[dict[str, Any]] = [
        {"name": word, "in": "path", "required": True, "schema": {**TEXT, "minLength": 1, "pattern": "^[!-.0-~]+$"}}
        for word in PATH_WORD.findall(route.path)
    ]
    for name in (*route.query, *route.filters, *route.headers):
        place, description, schema = route.parameters.get(name) or PARAMETERS[name]
        words.append({"name": name, "in": place, "description": description, "schema": schema})
    if route.open_query:
        words.append(OF_TYPE)
    if not route.public:
        description = f"`{versions.SERVICE_TYPE} <version>`; without it {versions.DEFAULT}"
        words.append(
            {"name": versions.HEADER, "in": "header", "description": description, "schema": {"type": "string"}}
        )
    return words


def _success(route: Route, references: Mapping[Any, Any]) -> dict[str, Any]:
    success: dict[str, Any] = {"description": route.success.phrase, "headers": _headers(route)}
    if route.answer is not None:
        success["content"] = {route.media_type: {"schema": references[route.answer]}}
    return success


def _failures(route: Route) -> dict[str, Any]:
    error = {JSON_TYPE: {"schema": {"$ref": REFERENCE.format(model="Error")}}}
    failures: dict[str, Any] = {
        "4XX": {"description": "The request cannot be granted", "content": error},
        "5XX": {"description": "The service failed", "content": error},
    }
    if route.path == "/healthcheck":
        failures["503"] = {
            "description": HTTPStatus.SERVICE_UNAVAILABLE.phrase,
            "content": {JSON_TYPE: {"schema": {"type": "object", "required": ["status", "error_message"]}}},
        }
    return failures


def _headers(route: Route) -> dict[str, Any]:
    text = {"schema": {"type": "string"}}
    headers: dict[str, Any] = {request_ids.HEADER: text}
    if not route.public:
        headers |= {versions.HEADER: text, "Vary": text}
    return headers


def _schemas(
    routes: list[Route], types: ResourceTypes, lease_fields: Sequence[LeaseField]
) -> tuple[dict[str, Any], dict[Any, Any]]:
    """Return the component schemas, and for each model the reference to its schema."""
    requests = [route.request for route in routes if route.request is not None]
    answers = [route.answer for route in routes if route.answer is not None]
    reservations, descriptions = types.schemas(), types.descriptions()
    of_requests, schemas = _collect([*requests, *reservations.values(), *descriptions.values(), *_SHARED])
    results = {each.results: each.answer for each in ACTIONS.values()}
    of_answers, answer_schemas = _collect([*answers, *results.values(), *(each.answer for each in lease_fields)])
    for each in lease_fields:
        answer_schemas["LeaseAnswer"]["properties"][each.name] = of_answers[each.answer]
    for name, answer in results.items():
        shown = {"items": of_answers[answer], "title": name.title(), "type": "array"}
        answer_schemas["ReservationAnswer"]["properties"][name] = shown
    for schema in answer_schemas.values():
        # Answers have no other keys, so that generated clients may rely on the schema.
        schema.setdefault("additionalProperties", False)
    schemas |= answer_schemas
    shared = {name: _shared_by(types.by_name[name].driver) for name in reservations}
    schemas["ReservationRequest"] = _variants(schemas["ReservationRequest"], reservations, shared, of_requests)
    described = [of_requests[model] for model in descriptions.values()]
    if described:
        schemas["ResourceCreation"] = {"allOf": [schemas["ResourceCreation"], {"anyOf": described}]}
    schemas["Error"] = ERROR
    return schemas, of_requests | of_answers


_SHARED: Mapping[type[BaseModel], type[Capability]] = {EndingBody: Outliving, NoShowBody: GivingUp}


def _shared_by(driver: Driver[Any]) -> list[type[BaseModel]]:
    """Return the models of the keys that a type has besides its own."""
    return [model for model, ability in _SHARED.items() if isinstance(driver, ability)]


def _collect(models: Iterable[Any]) -> tuple[dict[Any, Any], dict[str, Any]]:
    unique = list(dict.fromkeys(models))
    inputs = [(index, "validation", TypeAdapter(model)) for index, model in enumerate(unique)]
    found, document = TypeAdapter.json_schemas(inputs, ref_template=REFERENCE)  # type: ignore[arg-type]
    references = {unique[index]: schema for (index, _), schema in found.items()}
    return references, dict(document.get("$defs", {}))


def _variants(
    common: dict[str, Any],
    reservations: Mapping[str, type[BaseModel]],
    shared: Mapping[str, Sequence[type[BaseModel]]],
    references: Mapping[Any, Any],
) -> dict[str, Any]:
    """Return the schema of a requested reservation: one variant for each resource type, with the type's own fields.

    `shared` are models of more keys, which several types have.
    """
    if not reservations:
        return common
    return {
        "description": common.get("description", ""),
        "anyOf": [
            {
                "allOf": [
                    references[model],
                    {
                        "type": "object",
                        "required": ["resource_type"],
                        "properties": {"resource_type": {"const": name}},
                    },
                    *(references[each] for each in shared[name]),
                ]
            }
            for name, model in reservations.items()
        ],
    }
