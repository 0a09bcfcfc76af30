"""Read questions with gold answers and facts in the HotpotQA form."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from modelserver.inputs.data_files import read_json
from modelserver.wire.errors import UnreadableData
from modelserver.wire.schema import Context, Fact, QAItem, format_first_problem


class GoldExample(BaseModel):
    """A question with what it should be answered.

    ``type`` is the kind of reasoning, if the file says it. Fields beyond these are ignored.
    """

    model_config = ConfigDict(frozen=True)

    id: Annotated[str, Field(alias="_id", min_length=1)]
    question: str
    answer: Annotated[str, Field(min_length=1)]
    supporting_facts: list[Fact]
    context: Context
    type: str | None = None

    @property
    def item(self) -> QAItem:
        """Return the question without its gold answer."""
        return QAItem(id=self.id, question=self.question, context=self.context)

    @property
    def official(self) -> dict[str, Any]:
        """Return what the official scores look at."""
        return {"_id": self.id, "answer": self.answer, "supporting_facts": self.supporting_facts}


def read_gold(path: Path) -> list[GoldExample]:
    """Read a list of examples.

    Raises UnreadableData naming the file, the entry and the field at fault.
    """
    entries = read_json(path)
    if not isinstance(entries, list) or not entries:
        raise UnreadableData(f"{path}: expected a list of questions with at least one entry")
    return parse_gold(entries, str(path))


def parse_gold(entries: Iterable[Mapping[str, Any]], source: str) -> list[GoldExample]:
    """Validate entries one by one; ``source`` names them in an error."""
    examples = []
    for number, entry in enumerate(entries, start=1):
        try:
            examples.append(GoldExample.model_validate(entry))
        except ValidationError as error:
            problem = format_first_problem(error, whole="entry")
            raise UnreadableData(f"{source}: entry {number}: {problem}") from error
    return examples
