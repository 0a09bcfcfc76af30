"""Read question files in the form of SQuAD, which Quoref shares.

A passage is one sentence of one article.

Sources: Rajpurkar et al. 2016, Dasigi et al. 2019. There are no supporting facts in this form.
"""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, Field

from foundation.errors import BadFile
from foundation.imports.findings import Findings, Part
from foundation.imports.import_fields import Id, LongText, Text
from foundation.imports.json_stream import read_document
from foundation.messages import say
from predictions.formats.records import QuestionRecord


class _Answer(BaseModel):
    text: Text


class _Asked(BaseModel):
    external_id: Annotated[Id, Field(validation_alias="id")]
    text: Annotated[LongText, Field(validation_alias="question")]
    answers: list[_Answer] = []


class _Paragraph(BaseModel):
    context: Text
    qas: list[Any]


class _Article(BaseModel):
    title: Text = ""
    paragraphs: list[Any]


class _File(BaseModel):
    data: list[Any]


def read_quoref(
    path: Path, *, on_progress: Callable[[int], None] | None = None, findings: Findings | None = None
) -> Iterator[QuestionRecord]:
    """Yield the questions of a file, without those of several answers."""
    return read_squad(path, on_progress=on_progress, findings=findings, parts=True)


def read_squad(
    path: Path,
    *,
    on_progress: Callable[[int], None] | None = None,
    findings: Findings | None = None,
    parts: bool = False,
) -> Iterator[QuestionRecord]:
    """Yield the questions of a file in its order.

    The first answer is the gold answer. A question without an answer in the text is left out.

    Args:
        path: The file.
        on_progress: Called once with the number of bytes.
        findings: Takes what is left out or refused; without it the first refusal is raised.
        parts: Several answers are parts of one; such a question is left out.

    Raises:
        BadFile: A field is wrong or an id is repeated; names file and field.
    """
    findings = findings or Findings()
    reading = _Reading(path, findings)
    if on_progress is not None:
        on_progress(path.stat().st_size)
    for title, passage, asked in reading.asked():
        if not asked.answers:
            findings.note_repair("unanswered", asked.external_id)
        elif parts and len({answer.text for answer in asked.answers}) > 1:
            findings.note_repair("several_answers", asked.external_id)
        else:
            yield QuestionRecord(
                external_id=asked.external_id,
                text=asked.text,
                answer=asked.answers[0].text,
                context=[(title, [passage])],
                supporting_facts=None,
            )
    if not reading.some and not findings.refused_count:
        raise BadFile(path, say("holds no questions"), line=1)


class _Reading:
    """A file being read; ``some`` is True after the first question."""

    def __init__(self, path: Path, findings: Findings) -> None:
        self._path, self._findings = path, findings
        self._element, self.some = read_document(path), False

    def asked(self) -> Iterator[tuple[str, str, _Asked]]:
        """Yield title, passage and content of each question."""
        for _top, file in self._read_parts(_File, [self._element.value], ""):
            for where, article in self._read_parts(_Article, file.data, "data"):
                for inside, paragraph in self._read_parts(
                    _Paragraph, article.paragraphs, f"{where}.paragraphs"
                ):
                    for field, asked in self._read_parts(_Asked, paragraph.qas, f"{inside}.qas"):
                        if self._is_new(asked, field):
                            self.some = True
                            yield article.title, paragraph.context, asked

    def _read_parts(self, kind: type[Part], values: Sequence[Any], name: str) -> Iterator[tuple[str, Part]]:
        return self._findings.validate_each(kind, values, self._path, self._element, name)

    def _is_new(self, asked: _Asked, field: str) -> bool:
        where: dict[str, Any] = {"element": self._element, "within": field}
        try:
            self._findings.note_entry(asked.external_id, self._path, field="id", **where)
        except ValueError as error:
            self._findings.refuse(error, self._path, **where)
            return False
        return True
