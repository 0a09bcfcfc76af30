"""The changed items of a counterfactual study, with answers of systems.

The answers are predictions stored beforehand, on the dataset of changed items.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from accounts.models import Workspace
from foundation.errors import NotFound
from foundation.messages import extract_message, say
from predictions.models import Dataset, PredictionRun, Question
from predictions.queries.data import find_dataset
from predictions.queries.predictions import add_other_runs, find_latest_run, map_answers
from studyapp.definition.frozen.freezing import FrozenChange, FrozenItem, Shown
from studyapp.definition.schema import StudyDefinition
from studyapp.definition.task_designs.candidates import select_candidates, shuffle_texts
from studyapp.definition.tasks import Counterfactual
from studyapp.errors import StudyRefused
from studyapp.queries.design.decisions import Decided, is_correct, read_verdicts

SOURCE = ("task", "source")


@dataclass(frozen=True)
class ChangedItems:
    """One changed item for each original that has one.

    An original is shown once, because participants who met it before would not depend on its explanation.

    Attributes:
        items: By the ID of the original.
        answers: The answers of each system, by the ID of the changed item.
        verdicts: The decisions of judges about answers to changed items.
        seed: Decides the order of the options.
    """

    task: Counterfactual
    dataset: Dataset
    items: Mapping[str, Question]
    answers: Mapping[str, Mapping[str, str]]
    verdicts: Decided
    seed: int

    def explain_lack(self, original: str) -> str:
        """Return the sentence about a question without a changed item."""
        return say(
            "%(dataset)s has no changed item of %(id)r that every condition can ask about",
            dataset=str(self.dataset),
            id=original,
        )

    def freeze_change(self, original: str) -> FrozenChange:
        """Return the changed item of a question as participants will see it."""
        item = self.items[original]
        return FrozenChange(
            id=item.external_id,
            change=item.kind,
            question=item.text,
            context=item.context,
            gold_answer=item.answer,
        )

    def add_prediction_targets(
        self, shown: Mapping[str, Shown], items: Sequence[FrozenItem], system: str | None
    ) -> dict[str, Shown]:
        """Return what a condition shows, with what is to be predicted.

        Raises:
            StudyRefused: the system has no answer to a changed item, or there is nothing to choose from.
        """
        rows = {}
        for item in items:
            assert item.changed is not None
            answer = self._answer(item.changed, system)
            correct = None
            if item.changed.gold_answer:
                correct = is_correct(self.items[item.id], answer, self.verdicts)
            options = self._options(item, answer, shown[item.id].answer or "")
            update = {"changed_answer": answer, "changed_correct": correct, "options": options}
            rows[item.id] = shown[item.id].model_copy(update=update)
        return rows

    def _answer(self, changed: FrozenChange, system: str | None) -> str:
        if system is None:
            return changed.gold_answer
        answer = self.answers[system].get(changed.id)
        if answer is None:
            raise StudyRefused(
                SOURCE,
                "%(system)s has no answer to the changed item %(id)r of %(dataset)s; "
                "start a run under Systems, or: %(command)s",
                system=system,
                id=changed.id,
                dataset=str(self.dataset),
                command=predict_command(self.dataset, system),
            )
        return answer

    def _options(self, item: FrozenItem, answer: str, before: str) -> list[str]:
        """Return the answers to choose from; none if correctness is asked for.

        If the system is right, no other right answer is among them: it would mean the same.
        """
        if self.task.ask == "correct":
            return []
        assert item.changed is not None
        changed = self.items[item.id]
        given = [answers.get(item.changed.id, "") for answers in self.answers.values()]
        likely = [before, item.changed.gold_answer, item.gold_answer or "", *given]
        if item.changed.gold_answer and is_correct(changed, answer, self.verdicts):
            likely = [candidate for candidate in likely if not is_correct(changed, candidate, self.verdicts)]
        options = select_candidates(
            *(answer, likely, item.changed.context, self.items[item.id].labels),
            most=self.task.options,
            seed=f"{self.seed}/{item.id}",
        )
        if len(options) < 2:
            raise StudyRefused(
                SOURCE, "the changed item %(id)r has no second answer to choose from", id=item.changed.id
            )
        return options


def find_changed_items(
    definition: StudyDefinition, workspace: Workspace, runs: Mapping[str, PredictionRun]
) -> ChangedItems | None:
    """Find the changed items of a definition; None for another task.

    Args:
        definition: The definition.
        workspace: The workspace of its datasets.
        runs: The predictions on the originals, by system of a condition.

    Raises:
        StudyRefused: their dataset is unknown or has none, or a system has no predictions on it.
    """
    task = definition.task
    if not isinstance(task, Counterfactual):
        return None
    try:
        dataset = find_dataset(task.source, workspace)
    except NotFound as error:
        raise StudyRefused(SOURCE, extract_message(error)) from error
    answers = map_answers(
        add_other_runs([_find_same_system_run(dataset, run) for run in runs.values()], dataset)
    )
    needs_gold = task.ask == "correct" or any(row.ground_truth for row in definition.conditions)
    seed = definition.items.seed or 0
    items = dict(
        _draw_changed_items(dataset, [answers[system] for system in runs], seed, needs_gold=needs_gold)
    )
    if not items:
        raise StudyRefused(
            SOURCE,
            "%(dataset)s has no changed items that can be asked about; import some in the format "
            "`changed`, each with source_item_id",
            dataset=str(dataset),
        )
    verdicts = read_verdicts([row.pk for row in items.values()])
    return ChangedItems(task, dataset, items, answers, verdicts, seed)


def _find_same_system_run(dataset: Dataset, original: PredictionRun) -> PredictionRun:
    """Return the run on the changed items by the system of a run.

    Revisions of imported files are those of the files, so they say nothing about the system.
    """
    system = original.system.name
    done = original.system.runs.filter(dataset=dataset, status=PredictionRun.Status.DONE)
    run = done.filter(revision=original.revision).first() or find_latest_run(dataset, system)
    values = {"system": system, "dataset": str(dataset), "command": predict_command(dataset, system)}
    if run is None:
        reason = say(
            "%(system)s has no finished predictions on the changed items of %(dataset)s; "
            "start a run under Systems, or: %(command)s",
            **values,
        )
        raise StudyRefused(SOURCE, reason)
    are_served = {run.source, original.source} == {PredictionRun.Source.SERVER}
    if are_served and run.revision != original.revision:
        reason = say(
            "%(system)s answered the changed items of %(dataset)s in another revision; "
            "start a run under Systems, or: %(command)s",
            **values,
        )
        raise StudyRefused(SOURCE, reason)
    return run


def _draw_changed_items(
    dataset: Dataset, answers: Sequence[Mapping[str, str]], seed: int, *, needs_gold: bool
) -> Iterator[tuple[str, Question]]:
    """Yield a changed item of each original, drawn by a seed.

    An empty answer cannot be predicted; a missing one is a mistake that freezing names.
    """
    rows = Question.objects.filter(dataset=dataset).exclude(source_item_id="")
    if needs_gold:
        rows = rows.exclude(answer="")
    by_id = {row.external_id: row for row in rows}
    drawn = set[str]()
    for external_id in shuffle_texts(by_id, seed):
        row = by_id[external_id]
        can_ask = all(given.get(external_id) != "" for given in answers)
        if can_ask and row.source_item_id not in drawn:
            drawn.add(row.source_item_id)
            yield row.source_item_id, row


def predict_command(dataset: Dataset, system: str | None) -> str:
    """Return the command by which a system answers a dataset."""
    return f".venv/bin/python manage.py predict --dataset {dataset} --system {system} --wait"
