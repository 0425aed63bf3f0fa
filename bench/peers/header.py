"""Makes ctypes structures of those that a C header declares, so that their layout is that of the installed library."""

from __future__ import annotations

import ctypes
import re
from typing import Any, Final

SCALARS: Final = {
    "char": ctypes.c_char,
    "unsigned char": ctypes.c_ubyte,
    "int": ctypes.c_int,
    "double": ctypes.c_double,
    "time_t": ctypes.c_long,
    **{f"{sign}int{bits}_t": getattr(ctypes, f"c_{sign}int{bits}") for sign in ("", "u") for bits in (8, 16, 32, 64)},
    # A pointer that hides behind a name.
    "List": ctypes.c_void_p,
}
_COMMENT: Final = re.compile(r"/\*.*?\*/", re.DOTALL)
_STRUCTURE: Final = r"typedef struct\s*\w*\s*\{{([^{{}}]*)\}}\s*{name}\s*;"
_FIELD: Final = re.compile(r"(?P<kind>[\w ]+?)\s*(?P<stars>\**)\s*(?P<name>\w+)\s*(?:\[(?P<count>\d+)\])?")


class HeaderError(Exception):
    """The header does not declare a structure, or declares it in a way that is not understood."""


def structure(text: str, name: str) -> type[ctypes.Structure]:
    """Return the structure that the header's text declares under this name; pointers to text are `c_char_p`."""
    plain = _COMMENT.sub(" ", text)
    found = re.search(_STRUCTURE.format(name=re.escape(name)), plain)
    if found is None:
        raise HeaderError(f"There is no structure {name}.")
    declared = [each.strip() for each in found[1].split(";") if each.strip()]
    return type(name, (ctypes.Structure,), {"_fields_": [_field(each, plain) for each in declared]})


def _field(declaration: str, text: str) -> tuple[str, Any]:
    found = _FIELD.fullmatch(" ".join(declaration.split()))
    if found is None:
        raise HeaderError(f"A field is not understood: {declaration}")
    if found["stars"]:
        kind: Any = ctypes.c_char_p if (found["kind"], found["stars"]) == ("char", "*") else ctypes.c_void_p
    else:
        kind = SCALARS.get(found["kind"]) or structure(text, found["kind"])
    return found["name"], kind * int(found["count"]) if found["count"] else kind
