"""Read the released user study of Schuff et al. (2020).

The file has one JSON object per participant and line.

References:
    1. Schuff, Adel and Vu (2020). F1 is Not Enough! Models and Evaluation
       towards User-Centered Explainable Question Answering. EMNLP.
"""

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal, Self, get_args

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from .errors import InputError, find_first_problem
from .whole_files import read_lines

GROUND_TRUTH = "ground truth"
# As the file names them, in the order of the publication.
CONDITIONS = ("Qi-2019", "Select & Forget", "regularized", GROUND_TRUTH)

YesNo = Literal["yes", "no"]
Agreement = Literal["strong_disagree", "disagree", "neutral", "agree", "strong_agree"]
_POINTS: dict[Agreement, int] = {level: points for points, level in enumerate(get_args(Agreement), start=1)}


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class Ratings(_Strict):
    """The answers to the items as parallel lists, in the order shown."""

    question_ids: Annotated[list[Annotated[str, Field(min_length=1)]], Field(min_length=1)]
    certainty_ratings: list[Agreement]
    # Milliseconds.
    times: Annotated[list[Annotated[int, Field(ge=0, lt=2**31)]], Field(alias="completion_times(ms)")]
    answer_correct_ratings: list[YesNo]
    answer_known_before: list[YesNo]
    helpfulness_ratings: list[Agreement]

    @model_validator(mode="after")
    def _lists_are_parallel(self) -> Self:
        expected = len(self.question_ids)
        for name, field in type(self).model_fields.items():
            entries = len(getattr(self, name))
            if entries != expected:
                raise ValueError(f"{field.alias or name} has {entries} entries and question_ids {expected}")
        if len(set(self.question_ids)) < expected:
            raise ValueError("question_ids names a question twice")
        return self

    def trials(self) -> Iterator[tuple[str, int, dict[str, bool | int]]]:
        """Yield question ID, time in milliseconds and answers of each item."""
        columns = (
            self.question_ids,
            self.times,
            self.answer_correct_ratings,
            self.answer_known_before,
            self.certainty_ratings,
            self.helpfulness_ratings,
        )
        for item_id, time, correct, before, certainty, helpfulness in zip(*columns, strict=True):
            answers: dict[str, bool | int] = {
                "rated_correct": correct == "yes",
                "known_before": before == "yes",
                "certainty": _POINTS[certainty],
                "helpfulness": _POINTS[helpfulness],
            }
            yield item_id, time, answers


class PostSurvey(_Strict):
    """The answers to the post survey."""

    trust: Agreement
    enough_details: Agreement
    irrelevant_details: Agreement
    satisfied: Agreement

    def answers(self) -> dict[str, int]:
        """Return the answers as points from 1 to 5, by question."""
        return {
            "trust": _POINTS[self.trust],
            "relevant_information": _POINTS[self.enough_details],
            "irrelevant_information": _POINTS[self.irrelevant_details],
            "satisfaction": _POINTS[self.satisfied],
        }


class ReleasedParticipant(_Strict):
    """One line of the file."""

    subject_id: int
    condition: Literal["Qi-2019", "Select & Forget", "regularized", "ground truth"]
    per_question_ratings: Ratings
    post_questionnaire_ratings: PostSurvey


@dataclass(frozen=True)
class Release:
    """The whole file.

    Attributes:
        participants: In the order of the file.
        item_ids: In alphabetical order; the file gives only each
            participant's order.
    """

    participants: list[ReleasedParticipant]
    item_ids: list[str]

    @property
    def digest(self) -> str:
        """SHA-256 of the content, however the file formats it."""
        content = [participant.model_dump(mode="json") for participant in self.participants]
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def read_release(path: Path) -> Release:
    """Read and check the whole file.

    Args:
        path: File of JSON lines, a participant each.

    Returns:
        The participants and their items.

    Raises:
        InputError: The file cannot be read, a line is malformed, a participant
            appears twice, or two participants saw different questions. The
            error names file, line and field.
    """
    lines: dict[int, int] = {}
    first_items: set[str] = set()

    def parse(number: int, line: bytes) -> ReleasedParticipant:
        participant = _parse(path, number, line)
        earlier = lines.setdefault(participant.subject_id, number)
        if earlier != number:
            problem = f"{participant.subject_id} is on line {earlier} too"
            raise InputError(path, problem, where=f"line {number}", field="subject_id")
        items = set(participant.per_question_ratings.question_ids)
        first_items.update(items if not first_items else ())
        if items != first_items:
            problem = (
                f"{min(items ^ first_items)} was not shown to all; every participant of this study saw the "
                "same questions"
            )
            field = "per_question_ratings.question_ids"
            raise InputError(path, problem, where=f"line {number}", field=field)
        return participant

    participants = read_lines(path, parse, what="participant")
    return Release(participants, sorted(first_items))


def _parse(path: Path, number: int, line: bytes) -> ReleasedParticipant:
    try:
        return ReleasedParticipant.model_validate_json(line)
    except ValidationError as error:
        field, problem = find_first_problem(error)
        raise InputError(path, problem, where=f"line {number}", field=field) from error
