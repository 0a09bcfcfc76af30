"""Read HotpotQA question files: list, JSON Lines or columns.

Source: Yang et al. 2018. The columns are those of the release on the Hugging Face hub, whose rows
(``id``, ``context`` as ``{"title", "sentences"}``) are taken too. The list and the lines are streamed;
an object of columns has to be held in memory whole.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, Any

from pydantic import AliasChoices, BaseModel, BeforeValidator, Field, ValidationError
from pydantic_core import PydanticCustomError

from foundation.errors import BadFile
from foundation.import_fields import Id, Index, Label, LongText, Text
from foundation.json_stream import read_values
from predictions.formats.findings import Findings
from predictions.formats.records import QuestionRecord

COLUMNS = ("id", "question", "answer", "type", "level", "context", "supporting_facts")


def _paired(first: str, second: str) -> Callable[[Any], Any]:
    """Turn ``{first: [...], second: [...]}`` into pairs, if it is that."""

    def pairs(value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        left, right = value.get(first), value.get(second)
        if not isinstance(left, list) or not isinstance(right, list):
            raise PydanticCustomError("columns", f'must have the lists "{first}" and "{second}"')
        if len(left) != len(right):
            raise PydanticCustomError("columns", f'"{first}" and "{second}" must have the same length')
        return list(zip(left, right, strict=True))

    return pairs


Article = tuple[Text, list[Text]]
GoldFact = tuple[Text, Index]


class _Entry(BaseModel):
    """One question of a file; other keys are ignored.

    The limits are those of the model server.
    """

    external_id: Annotated[Id, Field(validation_alias=AliasChoices("_id", "id"))]
    text: Annotated[LongText, Field(validation_alias="question")]
    answer: Text
    kind: Annotated[Label, Field(validation_alias="type")] = ""
    level: Label = ""
    context: Annotated[list[Article], Field(min_length=1), BeforeValidator(_paired("title", "sentences"))]
    supporting_facts: Annotated[list[GoldFact] | None, BeforeValidator(_paired("title", "sent_id"))]


def read_hotpot(
    path: Path, *, on_progress: Callable[[int], None] | None = None, findings: Findings | None = None
) -> Iterator[QuestionRecord]:
    """Yield the questions of a file in its order.

    Args:
        path: The file.
        on_progress: Called with the number of bytes read so far.
        findings: Takes what is refused; without it the first refusal is raised.

    Raises:
        BadFile: An entry is wrong or repeats an id; names file, line, entry and field.
    """
    findings = findings or Findings(path)
    seen: dict[str, int] = {}
    number = 0
    for number, (line, entry) in enumerate(_entries(path, on_progress), start=1):
        record = _record(findings, line, number, entry)
        if record is None:
            continue
        first = seen.setdefault(record.external_id, number)
        if first != number:
            reason = f"the id {record.external_id} is that of entry {first}"
            findings.refuse(f"entry {number}", reason, line=line)
            continue
        yield record
    if number == 0:
        raise BadFile(path, "holds no questions")


def _entries(path: Path, on_progress: Callable[[int], None] | None) -> Iterator[tuple[int, Any]]:
    for line, value in read_values(path, on_progress=on_progress):
        if isinstance(value, dict) and isinstance(value.get("id"), list):
            yield from ((line, row) for row in _rows(path, line, value))
        else:
            yield line, value


def _rows(path: Path, line: int, columns: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the rows of an object of columns.

    Raises:
        BadFile: A column is not a list of the right length.
    """
    present = [name for name in COLUMNS if name in columns]
    size = len(columns["id"])
    for name in present:
        if not isinstance(columns[name], list) or len(columns[name]) != size:
            raise BadFile(path, f'{name}: must be a list of {size} values, as many as "id" has', line=line)
    for values in zip(*(columns[name] for name in present), strict=True):
        yield dict(zip(present, values, strict=True))


def _record(findings: Findings, line: int, number: int, entry: Any) -> QuestionRecord | None:
    """Return the record of an entry, None if the entry is refused."""
    if not isinstance(entry, dict):
        findings.refuse(f"entry {number}", f"expected an object, found {type(entry).__name__}", line=line)
        return None
    try:
        fields = _Entry.model_validate(entry)
    except ValidationError as error:
        findings.refuse_fields(error, entry=_named(number, entry), line=line)
        return None
    place = f"{findings.path}:{line}: {_named(number, entry)}"
    return QuestionRecord(place=place, line=line, **dict(fields))


def _named(number: int, entry: dict[str, Any]) -> str:
    external_id = entry.get("_id", entry.get("id"))
    return f"entry {number} ({external_id})" if isinstance(external_id, str) else f"entry {number}"
