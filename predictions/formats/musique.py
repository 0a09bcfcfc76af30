"""Read MuSiQue: questions over paragraphs. Source: Trivedi et al. 2022.

A paragraph is one sentence of one article, because the gold evidence is paragraphs.
"""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, Field

from foundation.imports.findings import Findings
from foundation.imports.import_fields import Id, LongText, Text
from foundation.imports.json_stream import OnProgress
from modelserver.wire.schema import Context, Fact
from predictions.formats.entries import read_entries
from predictions.formats.records import QuestionRecord


class _Paragraph(BaseModel):
    title: Text
    text: Annotated[Text, Field(validation_alias="paragraph_text")]
    is_supporting: bool | None = None


class _Entry(BaseModel):
    external_id: Annotated[Id, Field(validation_alias="id")]
    text: Annotated[LongText, Field(validation_alias="question")]
    answer: Text = ""
    answerable: bool = True
    paragraphs: Annotated[list[_Paragraph], Field(min_length=1)]


def read_musique(
    path: Path, *, on_progress: OnProgress | None = None, findings: Findings | None = None
) -> Iterator[QuestionRecord]:
    """Yield the questions of a file that have an answer.

    Paragraphs of one title get a number behind it, because facts name their article by title.

    Args:
        path: A JSON list or JSON Lines.
        on_progress: Called with the number of bytes read so far.
        findings: Takes what is left out or refused; without it the first refusal is raised.

    Raises:
        BadFile: An entry is wrong or repeats an ID; names file, line, entry and field.
    """
    findings = findings or Findings()

    def make_record(entry: dict[str, Any]) -> QuestionRecord | None:
        asked = _Entry.model_validate(entry)
        if not asked.answerable or not asked.answer:
            findings.note_repair("unanswered", asked.external_id)
            return None
        context, facts = _build_articles(asked.paragraphs)
        if len({paragraph.title for paragraph in asked.paragraphs}) < len(context):
            findings.note_repair("repeated_titles", asked.external_id)
        return QuestionRecord(
            external_id=asked.external_id,
            text=asked.text,
            answer=asked.answer,
            kind=asked.external_id.partition("__")[0][:40],  # the shape of its decomposition, as 3hop1
            context=context,
            supporting_facts=facts,
        )

    yield from read_entries(path, make_record, on_progress=on_progress, findings=findings)


def _build_articles(paragraphs: list[_Paragraph]) -> tuple[Context, list[Fact] | None]:
    """Return the articles and the gold facts; None if these are unknown."""
    context: Context = []
    facts: list[Fact] = []
    seen = Counter[str]()
    for paragraph in paragraphs:
        seen[paragraph.title] += 1
        number = seen[paragraph.title]
        title = paragraph.title if number == 1 else f"{paragraph.title} ({number})"
        context.append((title, [paragraph.text]))
        if paragraph.is_supporting:
            facts.append((title, 0))
    is_known = any(paragraph.is_supporting is not None for paragraph in paragraphs)
    return context, facts if is_known else None
