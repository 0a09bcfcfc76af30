"""Items for the tests of the editor, and objects to put on them.

Items are images and passages with programs.
"""

from __future__ import annotations

import re
from typing import Any

DOGS = {
    "program": "equal(count(find[dogs]), count(filter[black](find[dogs])))",
    "text": "There are as many black dogs as dogs in the two images.",
    "answer": True,
    "guidelines": {"find": "Draw a box around every object that the words name."},
}
FIND_DOGS, FILTER = 2, 4

PASSAGE = (
    "The Riverton Hawks won the opening game 34 to 27. In the first quarter Miller kicked a 23-yard field "
    "goal, and the Hawks led 3 to 0. Before half-time Ocampo ran 12 yards for a touchdown, while Miller "
    "missed from 51 yards. In the third quarter Bates threw a 44-yard pass to Lindqvist, and Miller added a "
    "38-yard field goal."
)


def tokens_of(text: str) -> list[tuple[int, int]]:
    return [match.span() for match in re.finditer(r"\w+(?:-\w+)*|[^\w\s]", text)]


GOALS = {
    "kind": "spans",
    "program": "count(find[field goals])",
    "text": "How many field goals did Miller kick?",
    "answer": 2,
    "passage": PASSAGE,
    "tokens": tokens_of(PASSAGE),
}
FIND_GOALS = 1


def box(name: str, image: int, *edges: float) -> dict[str, Any]:
    return {"id": name, "image": image, "box": list(edges), "links": [], "reason": ""}


def span(name: str, start: int, end: int, text: str = PASSAGE) -> dict[str, Any]:
    tokens = tokens_of(text)
    bounds = (tokens[start][0], tokens[end - 1][1])
    return {
        "id": name,
        "span": list(bounds),
        "tokens": [start, end],
        "quote": text[slice(*bounds)],
        "links": [],
        "reason": "",
    }


def layer(*objects: dict[str, Any], state: str = "open") -> dict[str, Any]:
    return {"state": state, "objects": list(objects)}
