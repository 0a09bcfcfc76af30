"""What a definition would freeze now: its dataset, runs and items, and the whole content."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from studyapp.definition import (
    ConditionDefinition,
    ItemDefinition,
    Location,
    StudyDefinition,
    check_item_rule,
)
from studyapp.errors import NotFound, StudyappError
from studyapp.freezing import FrozenCondition, FrozenItem, FrozenStudy, Shown
from studyapp.models import Dataset, Prediction, PredictionRun, Question, System
from studyapp.queries.data import dataset_named
from studyapp.queries.predictions import latest_run


class StudyRefused(StudyappError):
    """A definition cannot become a study; ``location`` is the field that has to change."""

    def __init__(self, location: Location, message: str) -> None:
        self.location = location
        super().__init__(message)


@dataclass(frozen=True)
class Arm:
    """A condition with the run whose predictions it shows; None for the ground truth."""

    definition: ConditionDefinition
    run: PredictionRun | None


@dataclass(frozen=True)
class Design:
    """A definition with what it refers to. ``questions`` are the items, in order."""

    dataset: Dataset
    arms: list[Arm]
    questions: list[Question]
    content: FrozenStudy


def design(definition: StudyDefinition) -> Design:
    """Find the dataset, the runs and the items of a definition.

    Raises:
        StudyRefused: the dataset or a system is unknown, a condition has nothing to show, or there are too
            few questions that every condition can show.
    """
    try:
        dataset = dataset_named(definition.dataset)
    except NotFound as error:
        raise StudyRefused(("dataset",), str(error)) from error
    arms = [_arm(dataset, place, condition) for place, condition in enumerate(definition.conditions)]
    questions = _items(dataset, definition, arms)
    _check_item_rules(definition, [question.external_id for question in questions])
    return Design(dataset, arms, questions, _content(definition, arms, questions))


def _arm(dataset: Dataset, place: int, condition: ConditionDefinition) -> Arm:
    if condition.system is None:
        return Arm(condition, None)
    location = ("conditions", place, "system")
    if not System.objects.filter(name=condition.system).exists():
        names = ", ".join(System.objects.order_by("name").values_list("name", flat=True)) or "none yet"
        raise StudyRefused(location, f"there is no system {condition.system!r}; there is {names}")
    run = latest_run(dataset, condition.system)
    if run is None:
        raise StudyRefused(
            location,
            f"condition {condition.name!r} has no finished predictions on {dataset}; "
            f"run: {_predict(dataset, condition)}",
        )
    return Arm(condition, run)


def _predict(dataset: Dataset, condition: ConditionDefinition) -> str:
    return f"python manage.py predict --dataset {dataset} --system {condition.system} --wait"


def _items(dataset: Dataset, definition: StudyDefinition, arms: Sequence[Arm]) -> list[Question]:
    """The questions that are items, in order: those named, or those drawn among what every arm can show."""
    known = dict(Question.objects.filter(dataset=dataset).values_list("external_id", "pk"))
    shows = {arm.definition.name: _can_show(dataset, arm) for arm in arms}
    items = definition.items
    if items.ids is not None:
        _check_named(items.ids, known, dataset, arms, shows)
        ids = items.ids
    else:
        assert items.count is not None
        usable = [
            external_id for external_id, pk in known.items() if all(pk in shown for shown in shows.values())
        ]
        if len(usable) < items.count:
            raise StudyRefused(
                ("items", "count"), _too_few(items.count, len(usable), len(known), dataset, shows)
            )
        ids = draw(usable, items.count, items.seed or 0)
    by_key = Question.objects.in_bulk([known[external_id] for external_id in ids])
    return [by_key[known[external_id]] for external_id in ids]


def draw(external_ids: Sequence[str], count: int, seed: int) -> list[str]:
    """Draw ids by a hash of seed and id: whatever their order, and a question more changes little."""
    return sorted(
        external_ids, key=lambda external_id: hashlib.sha256(f"{seed}/{external_id}".encode()).digest()
    )[:count]


def _can_show(dataset: Dataset, arm: Arm) -> set[int]:
    """Keys of the questions that an arm can show. An empty answer shows nothing."""
    if arm.run is None:
        known = Question.objects.filter(dataset=dataset, supporting_facts__isnull=False)
        return set(known.exclude(answer="").values_list("pk", flat=True))
    return set(Prediction.objects.filter(run=arm.run).exclude(answer="").values_list("question", flat=True))


def _check_named(
    ids: Sequence[str],
    known: Mapping[str, int],
    dataset: Dataset,
    arms: Sequence[Arm],
    shows: Mapping[str, set[int]],
) -> None:
    for place, external_id in enumerate(ids):
        location = ("items", "ids", place)
        if external_id not in known:
            raise StudyRefused(location, f"{dataset} has no question with the id {external_id!r}")
        for arm in arms:
            if known[external_id] not in shows[arm.definition.name]:
                lack = f"no answer from {arm.run}; run: {_predict(dataset, arm.definition)}"
                raise StudyRefused(
                    location,
                    f"condition {arm.definition.name!r} cannot show {external_id!r}: "
                    + (lack if arm.run else "its gold answer or its gold facts are unknown"),
                )


def _too_few(wanted: int, usable: int, total: int, dataset: Dataset, shows: Mapping[str, set[int]]) -> str:
    each = ", ".join(f"{name} {len(shown)}" for name, shown in shows.items())
    return (
        f"{wanted} wanted, but every condition can show only {usable} of the {total} questions of {dataset} "
        f"(each alone: {each}); `python manage.py predict --dataset {dataset} --system NAME` fills gaps"
    )


def _check_item_rules(definition: StudyDefinition, item_ids: Sequence[str]) -> None:
    for place, rule in enumerate(definition.exclusions):
        if isinstance(rule, ItemDefinition):
            try:
                check_item_rule(rule, item_ids)
            except ValueError as error:
                raise StudyRefused(("exclusions", place, "item_id"), str(error)) from error


def _content(definition: StudyDefinition, arms: Sequence[Arm], questions: Sequence[Question]) -> FrozenStudy:
    return FrozenStudy(
        title=definition.title,
        dataset=definition.dataset,
        items_seed=definition.items.seed,
        items=[
            FrozenItem(
                id=question.external_id,
                question=question.text,
                gold_answer=question.answer,
                context=question.context,
            )
            for question in questions
        ],
        conditions=[_frozen_arm(arm, questions) for arm in arms],
        item_questionnaire=definition.questionnaire.item,
        post_survey=definition.questionnaire.post_survey,
        consent=definition.consent,
        instructions=definition.instructions,
        rules=[rule.freeze() for rule in definition.exclusions],
        order_seed=definition.order_seed,
        assignment_block=definition.assignment_block,
        stale_after_minutes=definition.stale_after_minutes,
        redirect_url=definition.completion.redirect_url,
    )


def _frozen_arm(arm: Arm, questions: Sequence[Question]) -> FrozenCondition:
    return FrozenCondition(
        name=arm.definition.name,
        label=arm.definition.label,
        system=arm.definition.system,
        revision=arm.run.revision if arm.run else None,
        ground_truth=arm.run is None,
        weight=arm.definition.weight,
        shown=_shown(arm, questions),
    )


def _shown(arm: Arm, questions: Sequence[Question]) -> dict[str, Shown]:
    """What the arm shows, by item id. The ground truth shows the gold answer and the gold facts."""
    if arm.run is None:
        return {
            question.external_id: Shown(answer=question.answer, facts=question.supporting_facts)
            for question in questions
        }
    predictions = Prediction.objects.filter(run=arm.run, question__in=questions)
    return {
        external_id: Shown(answer=answer, facts=facts)
        for external_id, answer, facts in predictions.values_list("question__external_id", "answer", "facts")
    }
