"""Read prediction files in the official HotpotQA form.

``{"answer": {id: text}, "sp": {id: [[title, index], ...]}}`` and, optional,
``"type": {id: "span"|"yes"|"no"|"label"}``, ``"fact_probability": {id: [[title, index, p], ...]}``,
``"answer_location": {id: [title, index, start, end]}`` (code points in the sentence, end exclusive),
``"rationale": {id: text}``, ``"answer_logprob": {id: x}`` (natural logarithm, at most 0),
``"explanation_weights": {id: [[title, index, start, end, weight], ...]}`` (how much each token of the
context spoke for the answer; tokens that do not overlap),
``"question_weights": {id: [[start, end, weight], ...]}`` (the same of the question's tokens).

A fact of ``sp`` of another shape scores as in the official script, where it matches nothing, and the rest of
the file is read.
"""

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from analysis.scores.hotpotqa import normalise_facts
from foundation.errors import BadFile
from foundation.imports.findings import MOST_EXAMPLES, Findings, Refused
from foundation.imports.import_fields import Index, Text
from foundation.imports.json_elements import Element
from foundation.imports.json_stream import read_document
from foundation.messages import extract_message, say, value_error
from modelserver.wire.schema import (
    AnswerLocation,
    AnswerType,
    Fact,
    FactProbability,
    LogProbability,
    Probability,
    QAPrediction,
    QuestionWeight,
    TokenWeight,
)
from predictions.explanations.highlights import check_places, check_question_places

Weight = Annotated[float, Field(allow_inf_nan=False)]
REVISION_DIGITS = 12


def _check_order(location: tuple[str, int, int, int]) -> tuple[str, int, int, int]:
    if location[3] < location[2]:
        raise value_error("its end lies before its start")
    return location


class _File(BaseModel):
    """The parts of the file.

    An unknown key is an error, so that a misspelt one is not lost.
    """

    model_config = ConfigDict(extra="forbid")

    answer: dict[Text, Text]
    sp: dict[Text, list[tuple[Text, Index]]]
    type: dict[Text, AnswerType] = {}
    fact_probability: dict[Text, list[tuple[Text, Index, Probability]]] = {}
    explanation_weights: dict[Text, list[tuple[Text, Index, Index, Index, Weight]]] = {}
    question_weights: dict[Text, list[tuple[Index, Index, Weight]]] = {}
    rationale: dict[Text, Text] = {}
    answer_logprob: dict[Text, LogProbability] = {}
    answer_location: dict[
        Text, Annotated[tuple[Text, Index, Index, Index], AfterValidator(_check_order)]
    ] = {}


@dataclass(frozen=True)
class PredictionsFile:
    """A checked file; equal content has the same ``revision``.

    The revision is the beginning of the SHA-256.
    """

    path: Path
    revision: str
    content: _File
    element: Element
    malformed: frozenset[Fact] = frozenset()  # the facts that stand for malformed ones

    @property
    def ids(self) -> frozenset[str]:
        """The questions that have an answer or a fact list."""
        return frozenset(self.content.answer.keys() | self.content.sp.keys())

    def prediction(self, external_id: str, context: Any, question: str) -> QAPrediction:
        """Return the prediction for a question.

        A missing answer is the empty text and a missing fact list has no facts: both score 0, as they do in
        the official script.

        Args:
            external_id: The id of the question.
            context: Its articles, ``[[title, [sentence, ...]], ...]``.
            question: Its text.

        Raises:
            BadFile: The location of the answer or a weight is not in the text.
        """
        content = self.content
        probabilities = content.fact_probability.get(external_id)
        weights = self._weights(external_id, context)
        return QAPrediction(
            id=external_id,
            answer=content.answer.get(external_id, ""),
            type=content.type.get(external_id),
            location=self._location(external_id, context),
            facts=content.sp.get(external_id, []),
            fact_probabilities=None
            if probabilities is None
            else [
                FactProbability(title=title, index=index, probability=p) for title, index, p in probabilities
            ],
            explanation_weights=weights,
            question_weights=self._question_weights(external_id, question),
            rationale=content.rationale.get(external_id),
            answer_logprob=content.answer_logprob.get(external_id),
        )

    def _weights(self, external_id: str, context: Any) -> list[TokenWeight] | None:
        given = self.content.explanation_weights.get(external_id)
        if given is None:
            return None
        try:
            check_places(context, given)
        except ValueError as error:
            raise self._build_error("explanation_weights", external_id, extract_message(error)) from error
        return [
            TokenWeight(title=title, index=index, start=start, end=end, weight=weight)
            for title, index, start, end, weight in given
        ]

    def _question_weights(self, external_id: str, question: str) -> list[QuestionWeight] | None:
        given = self.content.question_weights.get(external_id)
        if given is None:
            return None
        try:
            check_question_places(question, given)
        except ValueError as error:
            raise self._build_error("question_weights", external_id, extract_message(error)) from error
        return [QuestionWeight(start=start, end=end, weight=weight) for start, end, weight in given]

    def _location(self, external_id: str, context: Any) -> AnswerLocation | None:
        location = self.content.answer_location.get(external_id)
        if location is None:
            return None
        title, index, start, end = location
        sentences = [texts[index] for name, texts in context if name == title and index < len(texts)]
        if not any(end <= len(sentence) for sentence in sentences):
            message = say(
                "no sentence %(index)s of %(title)r with %(end)s characters is in the question's articles",
                index=index,
                title=title,
                end=end,
            )
            raise self._build_error("answer_location", external_id, message)
        fact: Fact = (title, index)
        return AnswerLocation(first=fact, last=fact, start=start, end=end)

    def _build_error(self, part: str, external_id: str, reason: str) -> BadFile:
        line = self.element.line_of([part, external_id])
        return BadFile(self.path, reason, line=line, field=f"{part}[{external_id}]")


def read_predictions(
    path: Path, findings: Findings | None = None, *, strict: bool = False
) -> PredictionsFile:
    """Read and check a file, which is held in memory whole.

    Args:
        path: The file.
        findings: Takes malformed facts, and the wrong fields, whose entries are left out; without it the
            first wrong field is raised.
        strict: A malformed fact is a wrong field.

    Raises:
        BadFile: Names the file and the line; for all but a syntax error part and id, too.
        Refused: The file is of another form.
    """
    findings = findings or Findings()
    element = read_document(path)
    malformed = frozenset[Fact]() if strict else _replace_malformed_facts(path, element, findings)
    try:
        content = _File.model_validate(element.value)
    except ValidationError as error:
        findings.refuse(error, path, element=element)
        content = _drop_bad_entries(element.value, error, findings)
    revision = hashlib.sha256(path.read_bytes()).hexdigest()[:REVISION_DIGITS]
    return PredictionsFile(path, revision, content, element, malformed)


def _replace_malformed_facts(path: Path, element: Element, findings: Findings) -> frozenset[Fact]:
    """Replace malformed facts in the element; return what stands for them."""
    parts = element.value.get("sp") if isinstance(element.value, dict) else None
    if not isinstance(parts, dict):
        return frozenset()  # refused as a whole
    stand_ins: set[Fact] = set()
    for external_id, facts in parts.items():
        plain, malformed = normalise_facts(facts)
        for index in malformed:
            # To find the lines of thousands of them would take minutes.
            is_listed = findings.count("malformed_facts") < MOST_EXAMPLES
            shown = _format_fact_location(path, element, external_id, index) if is_listed else ""
            findings.note_repair("malformed_facts", shown)
            stand_ins.add(plain[index])
        parts[external_id] = plain
    return frozenset(stand_ins)


def _format_fact_location(path: Path, element: Element, external_id: str, index: int) -> str:
    line = element.line_of(["sp", external_id, index])
    return f"{path.name}:{line}: sp.{external_id}[{index}]"


def _drop_bad_entries(value: Any, error: ValidationError, findings: Findings) -> _File:
    """Return the file without the entries of an error, to check the others."""
    for problem in error.errors(include_url=False, include_input=False):
        part, *rest = problem["loc"] or [""]
        holder, key = (value.get(part), rest[0]) if rest and isinstance(value, dict) else (value, part)
        if isinstance(holder, dict):
            holder.pop(key, None)
    try:
        return _File.model_validate(value)
    except ValidationError as other:
        raise Refused(findings) from other
