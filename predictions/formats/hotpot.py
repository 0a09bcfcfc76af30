"""Read HotpotQA question files: list, JSON Lines, columns or Parquet.

Source: Yang et al. 2018. The columns are those of the release on the Hugging Face hub, whose rows
(``id``, ``context`` as ``{"title", "sentences"}``) are taken too. The list and the lines are streamed;
an object of columns has to be held in memory whole.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, Any

from pydantic import AliasChoices, BaseModel, BeforeValidator, Field

from foundation.errors import BadFile
from foundation.imports.findings import Findings
from foundation.imports.import_fields import Id, Index, Label, LongText, Text
from foundation.imports.json_elements import Element
from foundation.messages import say, value_error
from predictions.formats.entries import build_records, read_elements
from predictions.formats.records import QuestionRecord

COLUMNS = ("id", "question", "answer", "type", "level", "context", "supporting_facts")


def _make_pairing(first: str, second: str) -> Callable[[Any], Any]:
    """Turn ``{first: [...], second: [...]}`` into pairs, if it is that."""

    def pairs(value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        left, right = value.get(first), value.get(second)
        if not isinstance(left, list) or not isinstance(right, list):
            raise value_error('must have the lists "%(first)s" and "%(second)s"', first=first, second=second)
        if len(left) != len(right):
            raise value_error(
                '"%(first)s" and "%(second)s" must have the same length', first=first, second=second
            )
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
    context: Annotated[
        list[Article], Field(min_length=1), BeforeValidator(_make_pairing("title", "sentences"))
    ]
    supporting_facts: Annotated[list[GoldFact] | None, BeforeValidator(_make_pairing("title", "sent_id"))]


def read_hotpot(
    path: Path, *, on_progress: Callable[[int], None] | None = None, findings: Findings | None = None
) -> Iterator[QuestionRecord]:
    """Yield the questions of a file in its order.

    Args:
        path: The file.
        on_progress: Called with the number of bytes read so far.
        findings: Takes refusals; without it the first one is raised.

    Raises:
        BadFile: An entry is wrong or repeats an id; names file, line, entry and field.
    """
    findings = findings or Findings()
    entries = _read_entries(path, findings, on_progress)
    yield from build_records(path, entries, _build_record, findings=findings, id_fields=["_id", "id"])


def _read_entries(
    path: Path, findings: Findings, on_progress: Callable[[int], None] | None
) -> Iterator[tuple[Element, Any]]:
    for element in read_elements(path, on_progress=on_progress, on_error=findings.on_error):
        if isinstance(element.value, dict) and isinstance(element.value.get("id"), list):
            yield from ((element, row) for row in _split_columns(path, element))
        else:
            yield element, element.value


def _split_columns(path: Path, element: Element) -> Iterator[dict[str, Any]]:
    """Yield the rows of an object of columns.

    Raises:
        BadFile: A column is not a list of the right length.
    """
    columns = element.value
    present = [name for name in COLUMNS if name in columns]
    size = len(columns["id"])
    for name in present:
        if not isinstance(columns[name], list) or len(columns[name]) != size:
            reason = say('must be a list of %(size)s values, as many as "id" has', size=size)
            raise BadFile(path, reason, line=element.line_of([name]), field=name)
    for values in zip(*(columns[name] for name in present), strict=True):
        yield dict(zip(present, values, strict=True))


def _build_record(entry: dict[str, Any]) -> QuestionRecord:
    return QuestionRecord(**dict(_Entry.model_validate(entry)))
