"""The items of a simulation, with answers to choose from.

The answers are predictions stored beforehand. Correct means an exact match with the gold answer, or what
judges decided.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from predictions.models import Dataset, PredictionRun, Question
from predictions.queries.predictions import add_other_runs, map_answers
from studyapp.definition.conditions import ItemsDefinition
from studyapp.definition.frozen.freezing import FrozenItem, Shown
from studyapp.definition.schema import StudyDefinition
from studyapp.definition.task_designs.candidates import select_candidates, shuffle_texts
from studyapp.definition.tasks import Simulation
from studyapp.errors import StudyRefused
from studyapp.queries.design.decisions import Decided, is_correct, read_verdicts
from studyapp.rules.balanced_blocks import draw_balanced

BLOCKS = ("task", "blocks")


@dataclass(frozen=True)
class SimulatedItems:
    """The questions that a simulation can ask.

    Attributes:
        task: The task.
        questions: The questions of the dataset by ID.
        answers: The answers of all systems by ID, those of conditions first.
        verdicts: The decisions of judges about answers.
        systems: The names of the systems that the conditions show.
        seed: Decides the items, and the order of the answers to choose from.
    """

    task: Simulation
    questions: Mapping[str, Question]
    answers: Mapping[str, Mapping[str, str]]
    verdicts: Decided
    systems: Sequence[str]
    seed: int

    def choose_items(self, items: ItemsDefinition, usable: Sequence[str]) -> list[str]:
        """Return the items of the blocks.

        Args:
            items: The items as written.
            usable: The questions that every condition can show, and that are not taken.

        Raises:
            StudyRefused: the systems do not answer half of them correctly.
        """
        if items.ids is not None:
            self._check_ids(items.ids)
            return items.ids
        with_gold = [item for item in shuffle_texts(usable, self.seed) if self.questions[item].answer]
        self._check_enough(with_gold)
        drawn = draw_balanced(
            with_gold, {item: self._list_correctness(item) for item in with_gold}, self.task.blocks.total
        )
        if drawn is None:
            raise StudyRefused(
                BLOCKS,
                "there are no %(n)s questions of which each of %(systems)s answers half correctly; make "
                "the blocks smaller, or study these systems apart",
                n=self.task.blocks.total,
                systems=", ".join(self.systems),
            )
        return drawn

    def add_prediction_targets(
        self, shown: Mapping[str, Shown], items: Sequence[FrozenItem], system: str | None
    ) -> dict[str, Shown]:
        """Return what a condition shows, with what is to be predicted.

        Raises:
            StudyRefused: there is nothing to choose from.
        """
        return {
            item.id: shown[item.id].model_copy(
                update={
                    "correct": self._is_right(item.id, system or ""),
                    "options": self._options(item, system or ""),
                }
            )
            for item in items
        }

    def _options(self, item: FrozenItem, system: str) -> list[str]:
        """Return the answers to choose from; none if correctness is asked for.

        If the system is right, no other right answer is among them: it would mean the same.
        """
        if self.task.ask == "correct":
            return []
        question = self.questions[item.id]
        likely = [question.answer, *(answers.get(item.id, "") for answers in self.answers.values())]
        if self._is_right(item.id, system):
            likely = [candidate for candidate in likely if not is_correct(question, candidate, self.verdicts)]
        options = select_candidates(
            *(self.answers[system][item.id], likely, item.context or [], question.labels),
            most=self.task.options,
            seed=f"{self.seed}/{item.id}",
        )
        if len(options) < 2:
            raise StudyRefused(
                ("items",), "the question %(id)r has no second answer to choose from", id=item.id
            )
        return options

    def _is_right(self, item: str, system: str) -> bool:
        return is_correct(self.questions[item], self.answers[system].get(item, ""), self.verdicts)

    def _list_correctness(self, item: str) -> list[bool]:
        return [self._is_right(item, system) for system in self.systems]

    def _check_enough(self, items: Sequence[str]) -> None:
        """Raise StudyRefused if a system alone is too seldom right or wrong."""
        half = self.task.blocks.total // 2
        for system in self.systems:
            right = sum(self._is_right(item, system) for item in items)
            if min(right, len(items) - right) < half:
                raise StudyRefused(
                    BLOCKS,
                    "the blocks need %(half)s questions that %(system)s answers correctly and %(half)s "
                    "that it answers wrongly; every condition can show %(right)s and %(wrong)s of them. "
                    "Make the blocks smaller, or choose another system or dataset",
                    half=half,
                    system=system,
                    right=right,
                    wrong=len(items) - right,
                )

    def _check_ids(self, ids: Sequence[str]) -> None:
        for index, external_id in enumerate(ids):
            if external_id not in self.questions or not self.questions[external_id].answer:
                raise StudyRefused(
                    ("items", "ids", index),
                    "the gold answer of %(id)r is unknown, and so is whether the system is right",
                    id=external_id,
                )
        for system in self.systems:
            right = sum(self._is_right(item, system) for item in ids)
            if right * 2 != len(ids):
                raise StudyRefused(
                    ("items", "ids"),
                    "%(system)s answers %(right)s of these items correctly and %(wrong)s wrongly, but "
                    "each block needs half of both; exchange some, or have them drawn by count and seed",
                    system=system,
                    right=right,
                    wrong=len(ids) - right,
                )


def load_simulated_items(
    definition: StudyDefinition, dataset: Dataset, runs: Mapping[str, PredictionRun]
) -> SimulatedItems | None:
    """Read what a simulation can ask; None for another task.

    Args:
        definition: The definition.
        dataset: Its dataset.
        runs: The predictions that conditions show, by system.
    """
    task = definition.task
    if not isinstance(task, Simulation):
        return None
    questions = Question.objects.filter(dataset=dataset)
    shown = list(runs.values())
    return SimulatedItems(
        task,
        {question.external_id: question for question in questions.only("external_id", "answer", "labels")},
        map_answers(add_other_runs(shown, dataset) if task.ask == "answer" else shown),
        read_verdicts(questions.values_list("pk", flat=True)),
        list(runs),
        definition.items.seed or 0,
    )
