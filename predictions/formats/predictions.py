"""Read prediction files in the official HotpotQA form.

``{"answer": {id: text}, "sp": {id: [[title, index], ...]}}`` and, optional,
``"type": {id: "span"|"yes"|"no"}``, ``"fact_probability": {id: [[title, index, p], ...]}``,
``"answer_location": {id: [title, index, start, end]}`` (code points in the sentence, end exclusive),
``"explanation_weights": {id: [[title, index, start, end, weight], ...]}`` (how much each token of the
context spoke for the answer; tokens that do not overlap).
"""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from foundation.errors import BadFile
from foundation.import_fields import Index, Text, all_errors
from modelserver.wire.schema import (
    AnswerLocation,
    AnswerType,
    Fact,
    FactProbability,
    Probability,
    QAPrediction,
    TokenWeight,
)
from predictions.formats.findings import BadFields
from predictions.highlights import check_places

Weight = Annotated[float, Field(allow_inf_nan=False)]
REVISION_DIGITS = 12


def _ordered(location: tuple[str, int, int, int]) -> tuple[str, int, int, int]:
    if location[3] < location[2]:
        raise ValueError("its end lies before its start")
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
    answer_location: dict[Text, Annotated[tuple[Text, Index, Index, Index], AfterValidator(_ordered)]] = {}


@dataclass(frozen=True)
class PredictionsFile:
    """A checked file; equal content has the same ``revision``.

    The revision is the beginning of the SHA-256.
    """

    path: Path
    revision: str
    content: _File

    @property
    def ids(self) -> frozenset[str]:
        """The questions that have an answer or a fact list."""
        return frozenset(self.content.answer.keys() | self.content.sp.keys())

    def prediction(self, external_id: str, context: Any) -> QAPrediction:
        """Return the prediction for a question.

        A missing answer is the empty text and a missing fact list has no facts: both score 0, as they do in
        the official script.

        Args:
            external_id: The id of the question.
            context: Its articles, ``[[title, [sentence, ...]], ...]``.

        Raises:
            BadFile: The location of the answer or a weight is not in the context.
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
        )

    def _weights(self, external_id: str, context: Any) -> list[TokenWeight] | None:
        given = self.content.explanation_weights.get(external_id)
        if given is None:
            return None
        try:
            check_places(context, given)
        except ValueError as error:
            raise self._wrong("explanation_weights", external_id, str(error)) from error
        return [
            TokenWeight(title=title, index=index, start=start, end=end, weight=weight)
            for title, index, start, end, weight in given
        ]

    def _location(self, external_id: str, context: Any) -> AnswerLocation | None:
        place = self.content.answer_location.get(external_id)
        if place is None:
            return None
        title, index, start, end = place
        sentences = [texts[index] for name, texts in context if name == title and index < len(texts)]
        if not any(end <= len(sentence) for sentence in sentences):
            message = f"no sentence {index} of {title!r} with {end} characters is in the question's articles"
            raise self._wrong("answer_location", external_id, message)
        fact: Fact = (title, index)
        return AnswerLocation(first=fact, last=fact, start=start, end=end)

    def _wrong(self, part: str, external_id: str, reason: str) -> BadFile:
        line = _line_of(self.path.read_bytes(), (part, external_id))
        return BadFile(self.path, f"{part}[{external_id}]: {reason}", line=line)


def read_predictions(path: Path) -> PredictionsFile:
    """Read and check a file, which is held in memory whole.

    Raises:
        BadFile: Names the file and the line; for all but a syntax error part and id, too.
        BadFields: Has all wrong fields.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise BadFile(path, error.strerror or str(error)) from error
    try:
        content = _File.model_validate(json.loads(data, object_pairs_hook=_without_repeats))
    except json.JSONDecodeError as error:
        raise BadFile(path, f"not JSON: {error.msg}", line=error.lineno) from error
    except ValidationError as error:
        raise _bad_fields(path, data, error) from error
    except (ValueError, RecursionError) as error:
        raise BadFile(path, f"not JSON that can be read: {error}") from error
    return PredictionsFile(path, hashlib.sha256(data).hexdigest()[:REVISION_DIGITS], content)


def _bad_fields(path: Path, data: bytes, error: ValidationError) -> BadFields:
    places = [each["loc"] for each in error.errors(include_url=False, include_input=False)]
    lines = [_line_of(data, place) for place in places]
    return BadFields(path, [(*problem, line) for problem, line in zip(all_errors(error), lines, strict=True)])


def _line_of(data: bytes, place: Sequence[int | str]) -> int | None:
    """Return the line of a part of the file, or of an id in it.

    A name within another text may be taken for it: the line is a help, the field is exact.
    """
    at = 0
    for name in place[:2]:
        place_of = data.find(json.dumps(name, ensure_ascii=False).encode(), at)
        if place_of < 0:
            return None
        at = place_of
    return data.count(b"\n", 0, at) + 1


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return the object of these pairs; a repeated key is an error.

    Other JSON readers keep the last of two values silently.
    """
    content = dict(pairs)
    if len(content) != len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise ValueError(f"the key {twice!r} occurs twice in one object")
    return content
