"""Questions with gold answers and supporting facts, read from a file in the official HotpotQA form."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from modelserver.wire.errors import UnreadableData
from modelserver.wire.schema import Context, Fact, QAItem


class GoldExample(BaseModel):
    """A question with what it should be answered.

    Fields beyond these are ignored.
    """

    model_config = ConfigDict(frozen=True)

    id: Annotated[str, Field(alias="_id", min_length=1)]
    question: str
    answer: Annotated[str, Field(min_length=1)]
    supporting_facts: list[Fact]
    context: Context

    @property
    def item(self) -> QAItem:
        return QAItem(id=self.id, question=self.question, context=self.context)

    @property
    def official(self) -> dict[str, Any]:
        """Return what the official scores look at."""
        return {"_id": self.id, "answer": self.answer, "supporting_facts": self.supporting_facts}


def read_gold(path: Path) -> list[GoldExample]:
    """Read a list of examples.

    Raises UnreadableData naming the file, the entry and the field at fault.
    """
    try:
        entries = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UnreadableData(f"{path}: {error.strerror}") from error
    except ValueError as error:
        raise UnreadableData(f"{path}: not JSON in UTF-8: {error}") from error
    if not isinstance(entries, list) or not entries:
        raise UnreadableData(f"{path}: expected a list of questions with at least one entry")
    return parse_gold(entries, str(path))


def parse_gold(entries: Iterable[Mapping[str, Any]], source: str) -> list[GoldExample]:
    """Check entries one by one; ``source`` names where they come from in an error."""
    examples = []
    for number, entry in enumerate(entries, start=1):
        try:
            examples.append(GoldExample.model_validate(entry))
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            where = ".".join(map(str, first["loc"])) or "entry"
            raise UnreadableData(f"{source}: entry {number}: {where}: {first['msg']}") from error
    return examples
