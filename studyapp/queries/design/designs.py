"""The content that a definition would freeze now: dataset, runs and items."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.conf import settings

from accounts.models import Workspace
from analysis.scores import hotpotqa
from foundation.errors import NotFound
from foundation.images.image_files import has_image
from foundation.messages import extract_message, say
from predictions.explanations.highlights import (
    build_fact_weights,
    build_highlights,
    check_places,
    check_question_places,
)
from predictions.explanations.program_steps import IMAGES
from predictions.models import Dataset, Prediction, Question
from predictions.queries.data import find_dataset
from predictions.queries.predictions import find_latest_run, list_systems
from studyapp.definition.checks import AttentionDefinition, FrozenAttention
from studyapp.definition.conditions import ConditionDefinition, group_conditions
from studyapp.definition.exclusion_rules import ItemDefinition, check_item_rule
from studyapp.definition.frozen.freezing import (
    WITH_FACTS,
    WITH_RATIONALE,
    WITH_TOKENS,
    FrozenCondition,
    FrozenItem,
    FrozenStudy,
    Shown,
)
from studyapp.definition.schema import StudyDefinition
from studyapp.definition.task_designs.comparing import find_same_pairs
from studyapp.definition.task_designs.task_questions import list_options
from studyapp.definition.tasks import Advice, Preference, Task
from studyapp.errors import StudyRefused
from studyapp.queries.design.changed_items import ChangedItems, find_changed_items, predict_command
from studyapp.queries.design.item_pools import PlannedCondition, build_item_pool, select_items
from studyapp.queries.design.simulated_items import SimulatedItems, load_simulated_items


@dataclass(frozen=True)
class Design:
    """A definition with all that it refers to.

    ``questions`` are the items, in order; ``practice`` come first.
    """

    dataset: Dataset
    conditions: list[PlannedCondition]
    questions: list[Question]
    practice: list[Question]
    content: FrozenStudy


def build_design(definition: StudyDefinition, workspace: Workspace) -> Design:
    """Find the dataset, the runs and the items of a definition in a workspace.

    Raises:
        StudyRefused: the dataset, a system or the language is unknown, a condition has nothing to show, or
            there are too few questions that every condition can show.
    """
    try:
        dataset = find_dataset(definition.dataset, workspace)
    except NotFound as error:
        raise StudyRefused(("dataset",), extract_message(error)) from error
    _check_language(definition)
    _check_images(definition)
    conditions = [
        _plan_condition(dataset, index, written) for index, written in enumerate(definition.conditions)
    ]
    runs = {row.run.system.name: row.run for row in conditions if row.run}
    changed = find_changed_items(definition, workspace, runs)
    simulated = load_simulated_items(definition, dataset, runs)
    pool = build_item_pool(dataset, conditions, changed, simulated)
    attention = [_freeze_attention(dataset, index, row) for index, row in enumerate(definition.attention)]
    taken = {row.item for row in attention if row.item is not None}
    questions = select_items(pool, "items", definition.items, taken)
    taken |= {question.external_id for question in questions}
    practice = select_items(pool, "practice", definition.practice, taken) if definition.practice else []
    ids = [question.external_id for question in (*questions, *practice)]
    _check_attention(definition, attention, ids)
    _check_item_rules(definition, ids[: len(questions)])
    content = _freeze_content(definition, conditions, questions, practice, attention, changed or simulated)
    _check_compared(content)
    return Design(dataset, conditions, questions, practice, content)


def _check_language(definition: StudyDefinition) -> None:
    spoken = [code for code, _name in settings.LANGUAGES]
    if definition.language not in spoken:
        raise StudyRefused(
            ("language",),
            "the pages of this site are not available in %(language)r; available: %(spoken)s",
            language=definition.language,
            spoken=", ".join(spoken),
        )


def _plan_condition(dataset: Dataset, index: int, definition: ConditionDefinition) -> PlannedCondition:
    if definition.system is None:
        return PlannedCondition(definition, None)
    location = ("conditions", index, "system")
    run = find_latest_run(dataset, definition.system)
    if run is not None:
        return PlannedCondition(definition, run)
    systems = list(list_systems(dataset.workspace).values_list("name", flat=True))
    if definition.system not in systems:
        raise StudyRefused(
            location,
            "unknown system %(system)r; known systems: %(known)s",
            system=definition.system,
            known=", ".join(systems) or say("none yet"),
        )
    raise StudyRefused(
        location,
        "condition %(condition)r has no finished predictions on %(dataset)s; "
        "start a run under Systems, or: %(command)s",
        condition=definition.name,
        dataset=str(dataset),
        command=predict_command(dataset, definition.system),
    )


def _freeze_attention(dataset: Dataset, index: int, row: AttentionDefinition) -> FrozenAttention:
    """Return the attention item as it will be shown.

    Raises:
        StudyRefused: it contradicts nothing.
    """
    question = None
    if row.item is not None:
        question = Question.objects.filter(dataset=dataset, external_id=row.item).first()
        if question is None:
            raise StudyRefused(
                ("attention", index, "item"),
                "%(dataset)s has no question with the id %(id)r",
                dataset=str(dataset),
                id=row.item,
            )
        if not question.answer or not question.supporting_facts:
            raise StudyRefused(
                ("attention", index, "item"), "the gold answer or facts of %(id)r are unknown", id=row.item
            )
        if hotpotqa.exact_match(question.answer, row.answer or ""):
            raise StudyRefused(
                ("attention", index, "answer"),
                "is the gold answer of %(id)r, which contradicts nothing; give a wrong answer",
                id=row.item,
            )
    return FrozenAttention(
        **row.model_dump(exclude={"text"}),
        text=question.text if question else row.text or "",
        gold_answer=question.answer if question else None,
        context=question.context if question else None,
        facts=question.supporting_facts if question else None,
    )


def _check_attention(
    definition: StudyDefinition, attention: Sequence[FrozenAttention], ids: Sequence[str]
) -> None:
    for index, row in enumerate(attention):
        if row.id in ids:
            raise StudyRefused(("attention", index, "id"), "%(id)r is the id of an item", id=row.id)
        if row.item in ids:
            raise StudyRefused(
                ("attention", index, "item"), "%(id)r is an item of the study already", id=row.item
            )


def _check_item_rules(definition: StudyDefinition, item_ids: Sequence[str]) -> None:
    for index, rule in enumerate(definition.exclusions):
        if isinstance(rule, ItemDefinition):
            try:
                check_item_rule(rule, item_ids)
            except ValueError as error:
                raise StudyRefused(("exclusions", index, "item_id"), extract_message(error)) from error


def _check_compared(content: FrozenStudy) -> None:
    """Raise StudyRefused if two conditions are the same and ties forbidden."""
    if not isinstance(content.task, Preference) or content.task.ties:
        return
    for item, first, second in find_same_pairs(content):
        raise StudyRefused(
            ("task", "ties"),
            "%(first)r and %(second)r show the same for %(id)r, so neither is better; allow ties, or "
            "choose other items",
            first=first,
            second=second,
            id=item,
        )


def _check_images(definition: StudyDefinition) -> None:
    """Raise StudyRefused unless the site holds the images of all questions."""
    for part, questions in definition.parts.items():
        for question in questions:
            if question.image and not has_image(question.image.path):
                raise StudyRefused(
                    (part,) if part in ("screening", "comprehension") else ("questionnaire", part),
                    "the image %(image)s of %(id)r is not in the image folder",
                    image=question.image.file,
                    id=question.key,
                )


def _freeze_content(
    definition: StudyDefinition,
    conditions: Sequence[PlannedCondition],
    questions: Sequence[Question],
    practice: Sequence[Question],
    attention: Sequence[FrozenAttention],
    asked: ChangedItems | SimulatedItems | None,
) -> FrozenStudy:
    complete = definition.fill_translations()
    for language, lacking in definition.find_missing_texts().items():
        if lacking:
            del complete[language]
    groups = {
        member.name: name if definition.design != "between" else ""
        for name, members in group_conditions(definition.design, definition.conditions).items()
        for member in members
    }
    changed = asked if isinstance(asked, ChangedItems) else None
    items = [_freeze_item(question, definition.task, changed) for question in (*questions, *practice)]
    return definition.freeze(
        translations=complete,
        items=items[: len(questions)],
        practice=items[len(questions) :],
        attention=list(attention),
        design=definition.design,
        condition_order=definition.condition_order,
        conditions=[
            _freeze_condition(
                condition, index, groups[condition.definition.name], [*questions, *practice], items, asked
            )
            for index, condition in enumerate(conditions)
        ],
        rules=[rule.freeze() for rule in definition.exclusions],
    )


def _freeze_item(question: Question, task: Task, changed: ChangedItems | None) -> FrozenItem:
    """Return a question as participants will see it.

    A task in which they answer themselves offers them labels, or yes and no.

    Raises:
        StudyRefused: an image is gone.
    """
    images = IMAGES.validate_python(question.images)
    for image in images:
        if not has_image(image.path):
            raise StudyRefused(
                ("dataset",),
                "the image %(image)s of %(id)r is not in the image folder",
                image=image.path,
                id=question.external_id,
            )
    return FrozenItem(
        id=question.external_id,
        question=question.text,
        gold_answer=question.answer,
        context=question.context,
        images=images,
        options=list_options(question.answer, question.labels) if isinstance(task, Advice) else [],
        changed=changed.freeze_change(question.external_id) if changed else None,
    )


def _freeze_condition(
    condition: PlannedCondition,
    index: int,
    group: str,
    questions: Sequence[Question],
    items: Sequence[FrozenItem],
    asked: ChangedItems | SimulatedItems | None,
) -> FrozenCondition:
    shown = _read_shown_content(condition, index, questions)
    if asked is not None:
        shown = asked.add_prediction_targets(shown, items, condition.definition.system)
    return FrozenCondition(
        **condition.definition.model_dump(exclude={"group"}),
        revision=condition.run.revision if condition.run else None,
        group=group,
        saliency=_find_saliency_method(condition),
        shown=shown,
    )


def _find_saliency_method(condition: PlannedCondition) -> str:
    """Return the saliency method behind highlighted words; empty for none."""
    if condition.run is None or condition.definition.explanation not in WITH_TOKENS:
        return ""
    return condition.run.saliency_method


def _read_shown_content(
    condition: PlannedCondition, index: int, questions: Sequence[Question]
) -> dict[str, Shown]:
    """Return the content that the condition shows, by item ID.

    The ground truth shows the gold answer and the gold facts, and a control condition nothing.
    """
    has_facts = condition.definition.explanation in WITH_FACTS
    has_steps = condition.definition.explanation == "program"
    if not condition.definition.advice:
        return {}
    if condition.run is None:
        return {
            question.external_id: Shown(
                answer=question.answer,
                facts=question.supporting_facts if has_facts else None,
                steps=question.steps if has_steps else None,
            )
            for question in questions
        }
    predictions = Prediction.objects.filter(run=condition.run, question__in=questions).select_related(
        "question"
    )
    return {
        row.question.external_id: Shown(
            answer=row.answer,
            facts=row.facts if has_facts else None,
            **_build_tokens(condition, index, row),
            steps=row.steps if has_steps else None,
            rationale=row.rationale if condition.definition.explanation in WITH_RATIONALE else None,
        )
        for row in predictions
    }


def _build_tokens(condition: PlannedCondition, index: int, prediction: Prediction) -> dict[str, Any]:
    """Return the highlighted pieces of articles and question.

    They come from weights of tokens, else from the probabilities of facts.
    """
    if condition.definition.explanation not in WITH_TOKENS:
        return {}
    question = prediction.question
    if prediction.explanation_weights is None:
        weights = build_fact_weights(question.context, prediction.fact_probabilities or [])
        return {"tokens": build_highlights(weights).context}
    weights = [tuple(row) for row in prediction.explanation_weights]
    asked = [tuple(row) for row in prediction.question_weights or []]
    try:
        check_places(question.context, weights)
        check_question_places(question.text, asked)
    except ValueError as error:
        raise StudyRefused(
            ("conditions", index, "explanation"),
            "the weights of %(run)s do not fit: %(error)s",
            run=str(condition.run),
            error=str(error),
        ) from error
    pieces = build_highlights(weights, asked)
    is_known = prediction.question_weights is not None
    return {"tokens": pieces.context, "question_tokens": pieces.question if is_known else None}
