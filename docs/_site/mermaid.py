"""Turns drawings in Mermaid's language into Graphviz's, so that the site is built without a browser or a network.

The repository's own viewers draw Mermaid. Of its language this reads what our pages use: state diagrams with labelled
arrows, and flow charts with boxes, labelled arrows and groups. Any other line is an error.
"""

from __future__ import annotations

import re
from textwrap import wrap
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

STATES, FLOW = "stateDiagram-v2", "flowchart"
WIDTH = 30
"""Characters of a label in one line."""
_ARROW = re.compile(r"(\[\*\]|\w+) --> (\w+): (.+)")
_LINK = re.compile(r"(\w+) (-->|-\.->)(?:\|(.+)\|)? (\w+)")
_BOX = re.compile(r'(\w+)(\[\(|\(\[|\[)"(.+?)"(?:\)\]|\]\)|\])')
_GROUP = re.compile(r'subgraph (\w+) \["(.+)"\]')
_SHAPES = {"[": "box", "([": "box", "[(": "cylinder"}


class DrawingError(ValueError):
    """A line that is not understood."""


def to_graphviz(source: str) -> str:
    """Return the drawing in the language of `dot`; raises DrawingError for a line that is not understood."""
    first, *lines = (line.strip() for line in source.strip().splitlines())
    word, _, direction = first.partition(" ")
    readers: dict[str, Callable[[str], Iterator[str]]] = {STATES: _state_line, FLOW: _flow_line}
    if word not in readers:
        raise DrawingError(f"{first!r} is no drawing that the site can show: use {STATES} or {FLOW}.")
    body = "\n".join(part for line in lines if line for part in readers[word](line))
    return (
        f"digraph {{ rankdir={direction or 'TB'}; bgcolor=transparent; nodesep=0.4; ranksep=0.5;\n"
        'node [shape=box, style=rounded, fontname="Helvetica", fontsize=13, margin="0.2,0.1"];\n'
        f'edge [fontname="Helvetica", fontsize=11, arrowsize=0.7];\n{body}\n}}\n'
    )


def _state_line(line: str) -> Iterator[str]:
    found = _ARROW.fullmatch(line)
    if found is None:
        raise DrawingError(f"{line!r} is no arrow between two states.")
    old, new, label = found.groups()
    if old == "[*]":
        # Each beginning has a point of its own: one for all would be far from most.
        yield f'"from {new}" [shape=point, width=0.12, label=""];'
        old = f"from {new}"
    yield f'"{old}" -> "{new}" [label={_text(label)}];'


def _flow_line(line: str) -> Iterator[str]:
    if line == "end":
        yield "}"
        return
    group, box, link = _GROUP.fullmatch(line), _BOX.fullmatch(line), _LINK.fullmatch(line)
    if group is not None:
        yield f'subgraph cluster_{group[1]} {{ label="{group[2]}"; style=dashed; fontname="Helvetica"; fontsize=12;'
    elif box is not None:
        yield f"{box[1]} [label={_text(box[3])}, shape={_SHAPES[box[2]]}];"
    elif link is not None:
        style = "dashed" if link[2] == "-.->" else "solid"
        yield f"{link[1]} -> {link[4]} [style={style}, label={_text(link[3] or '')}];"
    else:
        raise DrawingError(f"{line!r} is neither a box, nor an arrow, nor a group.")


def _text(label: str) -> str:
    """Return a label in quotes, in lines of a readable length; `<br/>` begins another line."""
    lines = [part for line in label.split("<br/>") for part in wrap(line, WIDTH) or [""]]
    return '"' + "\\n".join(line.replace('"', '\\"') for line in lines) + '"'
