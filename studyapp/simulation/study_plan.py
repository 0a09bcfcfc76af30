"""The pages of a study as simulated participants expect them. No Django."""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from studyapp.definition.questions.question import Answer, Question
from studyapp.definition.tasks import Task, Verification
from studyapp.simulation.pages import Knowledge, Predictions

# The answers that a check asks for, by key of the question.
Wanted = Mapping[str, Answer]


@dataclass(frozen=True)
class StudyPlan:
    """The pages of a study, and the correctness of its answers.

    Attributes:
        items: The number of pages with items, practice and attention items included.
        item_questions: The questions of an item.
        post_survey: The questions after the items.
        knowledge: The correctness of the shown answers.
        stages: The pages before the items, in order.
        heeded: The answers that pass a check, by key, for each stage or shown question of an attention item.
        item_spread: The standard deviation of item effects that all bots share, in the unit of `Effect`.
        gold: The right answer by question, if participants answer themselves.
        predictions: The right predictions, if participants predict the system.
        blocks: The block of each page with an item, if the task is a simulation.
        task: The task.
        compared: The questions about two conditions, if participants compare them.
        own_check_questions: The questions of an attention item, if they are not those of an item.
    """

    items: int
    item_questions: Sequence[Question]
    post_survey: Sequence[Question]
    knowledge: Knowledge
    stages: Mapping[str, Sequence[Question]] = field(default_factory=dict)
    heeded: Mapping[str, Wanted] = field(default_factory=dict)
    item_spread: float = 0.0
    gold: Mapping[str, str] = field(default_factory=dict)
    predictions: Predictions = field(default_factory=dict)
    blocks: Sequence[str] = ()
    task: Task = field(default_factory=Verification)
    compared: Sequence[Question] = ()
    own_check_questions: Sequence[Question] | None = None

    @property
    def check_questions(self) -> Sequence[Question]:
        """Return the questions of an attention item."""
        return self.item_questions if self.own_check_questions is None else self.own_check_questions

    def leaning(self, question: str) -> float:
        """Return the effect of an item on every bot, drawn from its question."""
        return random.Random(f"item/{question}").gauss(0.0, self.item_spread)
