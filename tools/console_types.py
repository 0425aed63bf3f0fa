"""Writes the types of the API that the console is checked against, from our own OpenAPI document.

`console/types/api.d.ts` has a type for each schema, and `Operations`: for each method and path what is sent and what is
answered. `--check` only says whether the file is up to date.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from leasehold.api import openapi
from leasehold.cmd.web import LEASE_FIELDS, ROUTES
from leasehold.resource_types.registry import load_types

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

FILE = Path(__file__).parent.parent / "console" / "types" / "api.d.ts"
HEAD = "// Made by `make reference` from the OpenAPI document; change the models there.\n"
TYPES = ("physical:host", "virtual:instance", "flavor:instance", "virtual:floatingip", "maintenance:host")
NAME = re.compile(r"[A-Za-z_$][\w$]*")
PATH_WORD = re.compile(r"\{(\w+)\}")
PRIMITIVES = {
    "string": "string",
    "integer": "number",
    "number": "number",
    "boolean": "boolean",
    "null": "null",
}


def written(document: Mapping[str, Any]) -> str:
    """Return the file for an OpenAPI document."""
    return "".join([HEAD, *_schemas(document), *_operations(document)])


def _schemas(document: Mapping[str, Any]) -> Iterator[str]:
    for name, schema in sorted(document["components"]["schemas"].items()):
        yield f"\nexport type {name} = {type_of(schema)};\n"


def _operations(document: Mapping[str, Any]) -> Iterator[str]:
    yield "\nexport interface Operations {\n"
    for path, methods in sorted(document["paths"].items()):
        for method, operation in sorted(methods.items()):
            yield f"  {json.dumps(f'{method.upper()} {path}')}: {{\n"
            words = {word: {"type": "string"} for word in PATH_WORD.findall(path)}
            yield f"    path: {type_of({'type': 'object', 'properties': words, 'required': list(words)}, 2)};\n"
            query = [each for each in operation["parameters"] if each["in"] == "query"]
            named = {each["name"]: each["schema"] for each in query if not each.get("explode")}
            more = " & Record<string, any>" if len(named) < len(query) else ""
            yield f"    query: {type_of({'type': 'object', 'properties': named}, 2)}{more};\n"
            yield f"    body: {_content(operation.get('requestBody', {}))};\n"
            yield f"    answer: {_answer(operation['responses'])};\n  }};\n"
    yield "}\n"


def _content(holder: Mapping[str, Any]) -> str:
    content: Mapping[str, Any] = holder.get("content", {})
    return type_of(content["application/json"]["schema"], 2) if "application/json" in content else "undefined"


def _answer(responses: Mapping[str, Any]) -> str:
    """Return the types of the successes, or `void` for one without a body."""
    found = dict.fromkeys(
        "void" if kind == "undefined" else kind
        for status, response in responses.items()
        if status.startswith(("2", "300"))
        for kind in [_content(response)]
    )
    return " | ".join(found)


def type_of(schema: Any, depth: int = 0) -> str:
    """Return the TypeScript type of a JSON schema; `depth` is the indentation of its braces."""
    if not isinstance(schema, dict):
        return "any"
    if "$ref" in schema:
        return str(schema["$ref"]).rpartition("/")[2]
    values = [schema["const"]] if "const" in schema else schema.get("enum")
    if values is not None:
        return " | ".join(json.dumps(value) for value in values)
    for key, sign in (("anyOf", " | "), ("oneOf", " | "), ("allOf", " & ")):
        if key in schema:
            parts = dict.fromkeys(type_of(part, depth) for part in schema[key])
            return sign.join(f"({part})" if sign == " & " and " | " in part else part for part in parts)
    return _of_kind(schema, depth)


def _of_kind(schema: Mapping[str, Any], depth: int) -> str:
    kinds = schema.get("type")
    if isinstance(kinds, list):
        return " | ".join(_of_kind({**schema, "type": kind}, depth) for kind in kinds)
    if kinds == "array":
        return _array(schema, depth)
    if kinds == "object" or "properties" in schema:
        return _object(schema, depth)
    return PRIMITIVES.get(str(kinds), "any")


def _array(schema: Mapping[str, Any], depth: int) -> str:
    if "prefixItems" in schema:
        return f"[{', '.join(type_of(part, depth) for part in schema['prefixItems'])}]"
    return f"Array<{type_of(schema.get('items'), depth)}>"


def _object(schema: Mapping[str, Any], depth: int) -> str:
    properties: Mapping[str, Any] = schema.get("properties", {})
    more = schema.get("additionalProperties")
    if not properties and more is None and "properties" in schema:
        return "{}"
    if not properties:
        return (
            f"Record<string, {type_of(more, depth) if isinstance(more, dict) else 'any'}>"
            if more is not False
            else "{}"
        )
    required = schema.get("required", ())
    indent = "  " * (depth + 1)
    lines = [
        f"{indent}{name if NAME.fullmatch(name) else json.dumps(name)}{'' if name in required else '?'}: "
        f"{type_of(part, depth + 1)};\n"
        for name, part in properties.items()
    ]
    # Further keys, which some objects may have, are left out: with them every misspelt key would have a type.
    return "{\n" + "".join(lines) + "  " * depth + "}"


def main(arguments: list[str]) -> int:
    """Write the file, or only check it; returns 1 if it is out of date and was not written."""
    text = written(openapi.describe(ROUTES, load_types(TYPES), "keystone", LEASE_FIELDS))
    if arguments == ["--check"]:
        if not FILE.exists() or FILE.read_text(encoding="utf-8") != text:
            print(f"{FILE.name} is out of date: run make reference.")
            return 1
        return 0
    FILE.parent.mkdir(parents=True, exist_ok=True)
    FILE.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
