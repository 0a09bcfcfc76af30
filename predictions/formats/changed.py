"""Read changed items: questions or contexts made from those of a dataset.

A line is an object of its own form, or a counterfactual instance as ``analysis.counterfactuals`` writes it.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from analysis.counterfactuals.instances import CONFIRMED
from foundation.imports.findings import Findings
from foundation.imports.import_fields import Id, Label, LongText, Text
from foundation.imports.json_stream import OnProgress
from foundation.messages import value_error
from predictions.formats.entries import read_entries
from predictions.formats.records import QuestionRecord

Context = list[tuple[Text, list[Text]]]


class _Changed(BaseModel):
    """A changed item; what it leaves out is that of the original."""

    model_config = ConfigDict(extra="forbid")

    id: Id
    source_item_id: Id
    change: Label = ""
    question: LongText | None = None
    context: Annotated[Context, Field(min_length=1)] | None = None
    answer: Text = ""
    dataset: Annotated[Text, Field(max_length=100)] = ""


class _Version(BaseModel):
    question: LongText
    context: Annotated[Context, Field(min_length=1)]
    answer: Text | None = None


class _Instance(BaseModel):
    """The fields of `analysis.counterfactuals.Instance` that matter here."""

    id: Id
    question_id: Id
    step: Text
    extent: Text = ""
    counterfactual: _Version
    verdict: Text = ""
    near_synonym: bool = False


def read_changed(
    path: Path, *, on_progress: OnProgress | None = None, findings: Findings | None = None
) -> Iterator[QuestionRecord]:
    """Yield the changed items of a file.

    An item has ``id``, ``source_item_id``, ``change`` (optional), and ``question``, ``context`` or both. One
    that has not both names in ``dataset`` where its original is. ``answer`` is the right answer to the
    changed item, if it is known. Instances that people rejected are left out.

    Args:
        path: A JSON list or JSON Lines.
        on_progress: Called with the number of bytes read so far.
        findings: Takes refusals; without it the first one is raised.

    Raises:
        BadFile: An entry is wrong or repeats an ID; names file, line, entry and field.
    """
    findings = findings or Findings()

    def make_record(entry: dict[str, Any]) -> QuestionRecord | None:
        if "counterfactual" not in entry:
            return _convert_item(_Changed.model_validate(entry))
        instance = _Instance.model_validate(entry)
        is_doubtful = instance.near_synonym and instance.verdict not in CONFIRMED
        if instance.verdict == "rejected" or is_doubtful:
            findings.note_repair("rejected_changes", instance.id)
            return None
        return _convert_instance(instance)

    yield from read_entries(path, make_record, on_progress=on_progress, findings=findings)


def _convert_item(item: _Changed) -> QuestionRecord:
    if item.question is None and item.context is None:
        raise value_error("changes nothing; give a question, a context, or both")
    if None in (item.question, item.context) and not item.dataset:
        raise value_error("give question and context, or the dataset of the original")
    return QuestionRecord(
        external_id=item.id,
        text=item.question or "",
        answer=item.answer,
        kind=item.change,
        context=item.context or [],
        supporting_facts=None,
        source_item_id=item.source_item_id,
        source_dataset=item.dataset,
    )


def _convert_instance(instance: _Instance) -> QuestionRecord:
    extent = f", {instance.extent} only" if instance.extent else ""
    return QuestionRecord(
        external_id=instance.id,
        text=instance.counterfactual.question,
        answer=instance.counterfactual.answer or "",
        kind=(instance.step + extent)[:40],
        context=instance.counterfactual.context,
        supporting_facts=None,
        source_item_id=instance.question_id,
    )
