"""Made-up questions in the HotpotQA form.

Tests of import, prediction and scores use them.
"""

import json
from pathlib import Path
from typing import Any


def entry(number: int = 0, **changes: Any) -> dict[str, Any]:
    """Return one valid entry of the official list.

    The fake system answers it with "Paul Stone" or the like.
    """
    person = f"Paul Stone {'I' * (number + 1)}"
    film = f"Night Ferry {number}"
    return {
        "_id": f"q{number}",
        "question": f"Who directed the film {film}?",
        "answer": person,
        "type": "bridge",
        "level": "easy",
        "supporting_facts": [[film, 0], [person, 0]],
        "context": [
            [film, [f"The film {film} was directed by {person}.", f" {film} was shot in Oslo."]],
            [person, [f"{person} is a director.", f" He lives in Bergen {number}."]],
            ["Oslo", ["Oslo is a city."]],
        ],
    } | changes


def entries(count: int) -> list[dict[str, Any]]:
    return [entry(number) for number in range(count)]


def comparison(number: int) -> dict[str, Any]:
    """Return a question on the older of two people.

    The answer is the first article in half of them.
    """
    people = [(f"Ann Lee{number}", 1930 + number), (f"Bob Ray{number}", 1950)]
    older = min(people, key=lambda person: person[1])[0]
    return {
        "_id": f"q{number}", "type": "comparison", "level": "", "answer": older,
        "question": f"Who of the two singers is older, {people[0][0]} or {people[1][0]}?",
        "context": [[name, [f"{name} was born in {year}.", " Then it rained."]] for name, year in people],
        "supporting_facts": [[name, 0] for name, _ in people],
    }  # fmt: skip


def write_json(path: Path, content: Any) -> Path:
    path.write_text(json.dumps(content, ensure_ascii=False), encoding="utf-8")
    return path
