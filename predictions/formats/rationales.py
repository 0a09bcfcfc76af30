"""Read classification with rationales; the answer is a label.

e-SNLI and the tasks of ERASER.

Sources: Camburu et al. 2018 (e-SNLI), DeYoung et al. 2020 (ERASER).
"""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import accumulate
from pathlib import Path
from typing import Annotated, Any

from pydantic import AliasChoices, BaseModel, Field

from foundation.errors import BadFile
from foundation.imports.findings import Findings
from foundation.imports.import_fields import Id, LongText, Text
from foundation.imports.json_stream import OnProgress
from foundation.imports.text_files import open_text
from foundation.messages import field_error, prefix_field
from modelserver.wire.schema import Context
from predictions.formats.claims import LabelText, find_entries_file
from predictions.formats.entries import read_entries
from predictions.formats.labels import read_labels
from predictions.formats.records import QuestionRecord

DOCS = "docs"


class _Pair(BaseModel):
    """A pair of sentences; the second names are those of the released table."""

    external_id: Annotated[Id, Field(validation_alias=AliasChoices("id", "pairID"))]
    premise: Annotated[LongText, Field(validation_alias=AliasChoices("premise", "Sentence1"))]
    hypothesis: Annotated[LongText, Field(validation_alias=AliasChoices("hypothesis", "Sentence2"))]
    label: Annotated[LabelText, Field(validation_alias=AliasChoices("label", "gold_label"))]


def read_esnli(
    path: Path, *, on_progress: OnProgress | None = None, findings: Findings | None = None
) -> Iterator[QuestionRecord]:
    """Yield the pairs of a file: the question is the hypothesis.

    The premise is the only sentence of the only article. There are no gold facts: e-SNLI marks words.

    Args:
        path: A JSON list or JSON Lines.
        on_progress: Called with the number of bytes read so far.
        findings: Takes refusals; without it the first one is raised.

    Raises:
        BadFile: An entry is wrong or repeats an ID; names file, line, entry and field.
    """
    labels = read_labels(path, ["label", "gold_label"])

    def make_record(entry: dict[str, Any]) -> QuestionRecord:
        pair = _Pair.model_validate(entry)
        context: Context = [("Premise", [pair.premise])]
        return QuestionRecord(pair.external_id, pair.hypothesis, pair.label, context, None, labels=labels)

    yield from read_entries(path, make_record, on_progress=on_progress, findings=findings)


# --- ERASER ---


class _Span(BaseModel):
    """Words of a document, ends exclusive; a sentence of -1 is not given."""

    docid: Text
    start_token: int = -1
    end_token: int = -1
    start_sentence: int = -1
    end_sentence: int = -1


class _Annotation(BaseModel):
    external_id: Annotated[Id, Field(validation_alias="annotation_id")]
    query: LongText
    classification: LabelText
    docids: list[Text] | None = None
    evidences: list[list[_Span]] = []


def read_eraser(
    folder: Path, *, on_progress: OnProgress | None = None, findings: Findings | None = None
) -> Iterator[QuestionRecord]:
    """Yield the annotations of a folder with one file and ``docs/``.

    A line of a document is a sentence. The gold facts are the sentences that hold words of any rationale.

    Arguments and errors are those of `read_esnli`.
    """
    path = find_entries_file(folder, beside=DOCS)
    labels = read_labels(path, ["classification"])
    document = lru_cache(maxsize=1_000)(lambda name: _read_sentences(folder / DOCS, name))

    def make_record(entry: dict[str, Any]) -> QuestionRecord:
        row = _Annotation.model_validate(entry)
        spans = [span for group in row.evidences for span in group]
        names = list(dict.fromkeys([*(row.docids or []), *(span.docid for span in spans)]))
        texts = {name: document(name) for name in names or [row.external_id]}
        facts = [(span.docid, index) for span in spans for index in _find_sentences(span, texts[span.docid])]
        unique = list(dict.fromkeys(facts)) or None
        context = [*texts.items()]
        return QuestionRecord(row.external_id, row.query, row.classification, context, unique, labels=labels)

    yield from read_entries(
        path, make_record, on_progress=on_progress, findings=findings, id_field="annotation_id"
    )


def _read_sentences(folder: Path, name: str) -> list[str]:
    """Return the sentences of a document.

    Raises:
        ValueError: The folder has no such file.
    """
    file = folder / name
    if folder.resolve() not in file.resolve().parents or not file.is_file():
        raise field_error("docids", "docs has no document %(name)r", name=name[:200])
    try:
        with open_text(file) as lines:
            return [text for line in lines if (text := line.strip())]
    except BadFile as error:
        # Without the path, which is that of a folder to unpack: a preview has another one.
        raise ValueError(prefix_field("docids", f"{name[:200]}: {error.message}")) from error


def _find_sentences(span: _Span, sentences: Sequence[str]) -> range:
    """Return the numbers of the sentences that hold words of a span."""
    if 0 <= span.start_sentence < span.end_sentence:
        return range(span.start_sentence, span.end_sentence)
    ends = list(accumulate(len(sentence.split()) for sentence in sentences))
    if not 0 <= span.start_token < span.end_token <= (ends[-1] if ends else 0):
        raise field_error("evidences", "a rationale lies outside of %(name)r", name=span.docid)
    return range(bisect_right(ends, span.start_token), bisect_right(ends, span.end_token - 1) + 1)
