"""Read question files in the form of SQuAD, which Quoref shares.

A passage is one sentence of one article.

Sources: Rajpurkar et al. 2016, Dasigi et al. 2019. There are no supporting facts in this form.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, Field, ValidationError

from foundation.errors import BadFile
from foundation.import_fields import Id, LongText, Text
from predictions.formats.findings import Findings
from predictions.formats.records import QuestionRecord


class _Answer(BaseModel):
    text: Text


class _Asked(BaseModel):
    external_id: Annotated[Id, Field(validation_alias="id")]
    text: Annotated[LongText, Field(validation_alias="question")]
    answers: list[_Answer] = []


class _Paragraph(BaseModel):
    context: Text
    qas: list[_Asked]


class _Article(BaseModel):
    title: Text = ""
    paragraphs: list[_Paragraph]


class _File(BaseModel):
    data: list[_Article]


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
    findings = findings or Findings(path)
    seen: set[str] = set()
    for where, title, passage, asked in _asked(path, findings, on_progress):
        if asked.external_id in seen:
            findings.refuse(where, "the id is there already")
            continue
        seen.add(asked.external_id)
        if not asked.answers:
            findings.mend("unanswered", asked.external_id)
        elif parts and len({one.text for one in asked.answers}) > 1:
            findings.mend("several_answers", asked.external_id)
        else:
            yield _record(path, where, title, passage, asked)
    if not seen and not findings.refused_count:
        raise BadFile(path, "holds no questions")


def _asked(
    path: Path, findings: Findings, on_progress: Callable[[int], None] | None
) -> Iterator[tuple[str, str, str, _Asked]]:
    """Yield the place, title, passage and content of each question."""
    try:
        content = path.read_bytes()
        articles = _File.model_validate_json(content).data
    except OSError as error:
        raise BadFile(path, error.strerror or "cannot be read") from error
    except ValidationError as error:
        findings.refuse_fields(error)
        return
    if on_progress is not None:
        on_progress(len(content))
    for number, article in enumerate(articles):
        for place, paragraph in enumerate(article.paragraphs):
            for asked in paragraph.qas:
                where = f"data.{number}.paragraphs.{place} ({asked.external_id})"
                yield where, article.title, paragraph.context, asked


def _record(path: Path, where: str, title: str, passage: str, asked: _Asked) -> QuestionRecord:
    return QuestionRecord(
        place=f"{path}: {where}", external_id=asked.external_id, text=asked.text,
        answer=asked.answers[0].text, kind="", level="", context=[(title, [passage])],
        supporting_facts=None,
    )  # fmt: skip
