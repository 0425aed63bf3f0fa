"""The reference of the API: what the OpenAPI document says, as pages. Nothing of it is written by hand."""

from __future__ import annotations

import importlib
import re
from functools import cache
from http import HTTPStatus
from inspect import getdoc
from typing import TYPE_CHECKING, Any

from leasehold import conf
from leasehold.api import openapi
from leasehold.api.versions import V1_0
from leasehold.cmd.web import LEASE_FIELDS, ROUTES
from leasehold.model.errors import LeaseholdError
from leasehold.resource_types.registry import load_types

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from sphinx.application import Sphinx

    from leasehold.api.route import Route

FOLDER = "docs/reference/api/"
GROUPS: Mapping[str, tuple[str, ...]] = {
    "leases": ("leases", "offers", "flexible-leases", "series", "lease-templates"),
    "availability": ("availability", "regions", "alarms"),
    "events": ("events", "subscriptions", "feeds"),
    "resources": ("resources", "os-hosts", "floatingips", "maintenances"),
}
"""The pages, and the first words of the paths on each."""
REST = "other"
"""The page of all other paths."""
_ELSEWHERE = re.compile(r"\s`make docs`\slists\sthe\s\w+\shere\.")
"""What the pages say in the repository, where the lists are not."""


@cache
def document() -> Mapping[str, Any]:
    """Return the OpenAPI document of a service with the default options and Keystone."""
    config = conf.load([])
    return openapi.describe(ROUTES, load_types(config.settings.plugins, config.raw), "keystone", LEASE_FIELDS)


def page_of(path: str) -> str:
    """Return the name of the page that a path is on."""
    words = path.removeprefix("/v1/").split("/")
    return next((page for page, firsts in GROUPS.items() if path.startswith("/v1/") and words[0] in firsts), REST)


def routes_page(page: str) -> str:
    """Return the Markdown of all routes of a page."""
    found = sorted((route for route in ROUTES if page_of(route.path) == page), key=lambda route: route.path)
    return "\n".join(line for route in found for line in _route(route))


def _route(route: Route) -> Iterator[str]:
    operation = document()["paths"][route.path][route.method.lower()]
    yield f"## `{route.method} {route.path}`\n"
    yield f"{route.description}\n"
    if route.rules:
        yield f"Policy: {', '.join(f'`{rule}`' for rule in route.rules)} ([policies](../policies.md)).\n"
    if route.since != V1_0:
        yield f"From microversion {route.since} on.\n"
    if operation["parameters"]:
        rows = [
            (f"`{each['name']}`", each["in"], kind(each["schema"]), each.get("description", ""))
            for each in operation["parameters"]
        ]
        yield table(("parameter", "in", "kind", "meaning"), rows)
    if route.request is not None:
        yield from _body(operation["requestBody"]["content"]["application/json"]["schema"])
    yield "Answers:\n"
    for status, answer in operation["responses"].items():
        yield f"* `{status}` {answer['description']}{_content(answer)}"
    yield ""


def _body(schema: Mapping[str, Any]) -> Iterator[str]:
    name = schema["$ref"].rpartition("/")[2]
    yield f"Body, [{name}](shapes.md#{anchor(name)}):\n"
    yield keys(document()["components"]["schemas"][name])


def _content(answer: Mapping[str, Any]) -> str:
    (found,) = answer.get("content", {"": {}}).values()
    schema = found.get("schema", {})
    if not schema:
        return ""
    # An answer of any shape, such as this document itself, has no shape to name.
    said = "[an error](errors.md)" if schema.get("$ref", "").endswith("/Error") else kind(schema)
    return f": {said}"


# ---------------------------------------------------------------- schemas


def shapes_page() -> str:
    """Return the Markdown of all shapes of bodies and answers."""
    schemas = document()["components"]["schemas"]
    return "\n".join(f"## {name}\n\n{_described(schemas[name])}\n\n{keys(schemas[name])}" for name in sorted(schemas))


def _described(schema: Mapping[str, Any]) -> str:
    return str(schema.get("description", ""))


def keys(schema: Mapping[str, Any]) -> str:
    """Return the keys of a schema as a table, or what else it is as a sentence."""
    if "properties" not in schema:
        return f"{kind(schema)}\n"
    required = schema.get("required", ())
    rows = [
        (f"`{name}`", kind(each), "yes" if name in required else "", _meaning(each))
        for name, each in schema["properties"].items()
    ]
    return table(("key", "kind", "required", "meaning"), rows)


def _meaning(schema: Mapping[str, Any]) -> str:
    """Return the description of a key, which may be that of its only alternative to null."""
    inner = (_described(each) for each in schema.get("anyOf", ()))
    return _described(schema) or next(filter(None, inner), "")


def kind(schema: Mapping[str, Any]) -> str:
    """Return in words what a schema allows, with links to shapes that have a name."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return f"[{name}](shapes.md#{anchor(name)})"
    if "enum" in schema:
        return "one of " + ", ".join(f"`{value}`" for value in schema["enum"])
    if "const" in schema:
        return f"`{schema['const']}`"
    for word, joined in (("anyOf", " or "), ("allOf", " with ")):
        if word in schema:
            return joined.join(dict.fromkeys(kind(each) for each in schema[word]))
    return _plain(schema)


def _plain(schema: Mapping[str, Any]) -> str:
    names = schema.get("type", "any value")
    if isinstance(names, list):
        return " or ".join(names)
    if names == "array":
        return f"list of {kind(schema['items'])}" if schema.get("items") else "list"
    if names == "object":
        return _object(schema)
    bounds = [f"{word} {schema[name]}" for name, word in _BOUNDS.items() if name in schema]
    return ", ".join([str(names), *bounds])


_BOUNDS = {
    "minimum": "at least",
    "maximum": "at most",
    "minLength": "characters at least",
    "maxLength": "characters at most",
    "format": "as",
}


def _object(schema: Mapping[str, Any]) -> str:
    inner = schema.get("properties", {})
    if inner:
        return "object with " + ", ".join(f"`{name}`: {kind(each)}" for name, each in inner.items())
    values = schema.get("additionalProperties")
    return f"object of {kind(values)}" if isinstance(values, dict) and values else "object"


# ---------------------------------------------------------------- errors


def errors_page() -> str:
    """Return the catalogue of errors as a table, by status and code."""
    importlib.import_module("leasehold.api.errors")  # Defines the API's own errors.
    found = {error.code: error for error in _catalogue(LeaseholdError)}
    ordered = sorted(found.values(), key=lambda error: (error.status, error.code))
    rows = [(f"`{each.code}`", _status(each), _first(each)) for each in ordered]
    return table(("code", "status", "meaning"), rows)


def _catalogue(base: type[LeaseholdError]) -> Iterator[type[LeaseholdError]]:
    for each in base.__subclasses__():
        # The first class with a code is the general one.
        yield from _catalogue(each)
        yield each


def _status(error: type[LeaseholdError]) -> str:
    return f"{int(error.status)} {HTTPStatus(error.status).phrase}"


def _first(error: type[LeaseholdError]) -> str:
    return (getdoc(error) or "").partition("\n\n")[0].replace("\n", " ")


# ---------------------------------------------------------------- Markdown


def table(titles: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = [titles, tuple("---" for _ in titles), *(tuple(map(_cell, row)) for row in rows)]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def anchor(name: str) -> str:
    return name.lower()


def add_reference(_app: Sphinx, page: str, source: list[str]) -> None:
    """Append to a page of the folder what is said about its routes, shapes or errors."""
    name = page.removeprefix(FOLDER)
    if not page.startswith(FOLDER) or name == "README":
        return
    source[0] = _ELSEWHERE.sub("", source[0])
    made = {"shapes": shapes_page, "errors": errors_page}
    source[0] = f"{source[0]}\n{made[name]() if name in made else routes_page(name)}"


def setup(app: Sphinx) -> dict[str, bool]:
    """Let Sphinx use it."""
    app.connect("source-read", add_reference)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
