"""The content that a definition would freeze now: dataset, runs and items."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.db.models import Q

from accounts.models import Workspace
from analysis.scores import hotpotqa
from foundation.errors import NotFound
from foundation.images.image_files import has_image
from foundation.messages import message_of, say
from predictions.highlights import check_places, check_question_places, fact_weights, highlights
from predictions.models import Dataset, Prediction, PredictionRun, Question
from predictions.program_steps import IMAGES
from predictions.queries.data import dataset_named
from predictions.queries.predictions import find_latest_run, systems_of
from studyapp.definition.candidates import shuffle_texts
from studyapp.definition.checks import AttentionDefinition, FrozenAttention
from studyapp.definition.comparing import find_same_pairs
from studyapp.definition.conditions import ConditionDefinition, ItemsDefinition, Stratified, groups_of
from studyapp.definition.exclusion_rules import ItemDefinition, check_item_rule
from studyapp.definition.freezing import (
    WITH_FACTS,
    WITH_RATIONALE,
    WITH_TOKENS,
    FrozenCondition,
    FrozenItem,
    FrozenStudy,
    Shown,
)
from studyapp.definition.schema import StudyDefinition
from studyapp.definition.task_questions import list_options
from studyapp.definition.tasks import Advice, Preference, Task
from studyapp.errors import StudyRefused
from studyapp.queries.changed_items import ChangedItems, find_changed_items, predict_command
from studyapp.queries.simulated_items import SimulatedItems, load_simulated_items


@dataclass(frozen=True)
class PlannedCondition:
    """A condition with the run that it shows.

    ``run`` is None for the ground truth, and for a control condition without advice.
    """

    definition: ConditionDefinition
    run: PredictionRun | None


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


def design(definition: StudyDefinition, workspace: Workspace) -> Design:
    """Find the dataset, the runs and the items of a definition in a workspace.

    Raises:
        StudyRefused: the dataset, a system or the language is unknown, a condition has nothing to show, or
            there are too few questions that every condition can show.
    """
    try:
        dataset = dataset_named(definition.dataset, workspace)
    except NotFound as error:
        raise StudyRefused(("dataset",), message_of(error)) from error
    _check_language(definition)
    _check_images(definition)
    conditions = [
        _plan_condition(dataset, index, written) for index, written in enumerate(definition.conditions)
    ]
    runs = {row.run.system.name: row.run for row in conditions if row.run}
    changed = find_changed_items(definition, workspace, runs)
    simulated = load_simulated_items(definition, dataset, runs)
    pool = _pool(dataset, conditions, changed, simulated)
    attention = [_attention(dataset, index, row) for index, row in enumerate(definition.attention)]
    taken = {row.item for row in attention if row.item is not None}
    questions = _items(pool, "items", definition.items, taken)
    taken |= {question.external_id for question in questions}
    practice = _items(pool, "practice", definition.practice, taken) if definition.practice else []
    ids = [question.external_id for question in (*questions, *practice)]
    _check_attention(definition, attention, ids)
    _check_item_rules(definition, ids[: len(questions)])
    content = _content(definition, conditions, questions, practice, attention, changed or simulated)
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
    systems = list(systems_of(dataset.workspace).values_list("name", flat=True))
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


@dataclass(frozen=True)
class _Pool:
    """The questions that can be shown.

    ``keys`` maps the ids of all questions to keys; ``shows`` has keys by condition. ``changed`` are the
    changed items of the task counterfactual, whose originals alone can be shown, and ``simulated`` chooses
    the items of the task simulation.
    """

    dataset: Dataset
    conditions: Sequence[PlannedCondition]
    keys: Mapping[str, int]
    shows: Mapping[str, set[int]]
    changed: ChangedItems | None
    simulated: SimulatedItems | None

    @property
    def usable(self) -> list[str]:
        """Ids of the questions that every condition can show."""
        return [
            external_id for external_id, pk in self.keys.items()
            if all(pk in shown for shown in self.shows.values())
            and (self.changed is None or external_id in self.changed.items)
        ]  # fmt: skip


def _pool(
    dataset: Dataset,
    conditions: Sequence[PlannedCondition],
    changed: ChangedItems | None,
    simulated: SimulatedItems | None,
) -> _Pool:
    keys = dict(Question.objects.filter(dataset=dataset).values_list("external_id", "pk"))
    shows = {}
    for index, condition in enumerate(conditions):
        shown = shows[condition.definition.name] = _can_show(dataset, condition)
        if not shown and (lack := _explain_general_lack(condition)):
            raise StudyRefused(("conditions", index, "explanation"), lack)
    return _Pool(dataset, conditions, keys, shows, changed, simulated)


def _explain_general_lack(condition: PlannedCondition) -> str:
    """Return what no question has that a condition would show, if it is known."""
    run = str(condition.run) if condition.run else say("the gold of this dataset")
    if condition.definition.explanation in WITH_TOKENS:
        return say("%(run)s has neither token weights nor fact probabilities", run=run)
    if condition.definition.explanation == "program":
        return say("%(whose)s has no program steps", whose=run)
    if condition.definition.explanation in WITH_RATIONALE:
        return say("%(run)s has no rationales", run=run)
    return ""


def _items(pool: _Pool, field: str, items: ItemsDefinition, taken: set[str]) -> list[Question]:
    """Return the questions listed by ID, or drawn among the usable ones.

    A usable question can be shown by every condition and is not taken.
    """
    if items.ids is not None:
        _check_named(items.ids, field, pool, taken)
        ids = items.ids
    else:
        assert items.count is not None
        usable = [external_id for external_id in pool.usable if external_id not in taken]
        if len(usable) < items.count:
            raise StudyRefused((field, "count"), _explain_shortage(items.count, len(usable), pool))
        ids = (
            _draw_stratified(pool, usable, items, items.stratify)
            if items.stratify
            else draw(usable, items.count, items.seed or 0)
        )
    if pool.simulated and field == "items":
        ids = pool.simulated.choose_items(items, [each for each in pool.usable if each not in taken])
    by_key = Question.objects.in_bulk([pool.keys[external_id] for external_id in ids])
    return [by_key[pool.keys[external_id]] for external_id in ids]


def draw(external_ids: Sequence[str], count: int, seed: int) -> list[str]:
    """Draw different IDs by a hash of seed and ID."""
    return shuffle_texts(external_ids, seed)[:count]


def _draw_stratified(
    pool: _Pool, usable: Sequence[str], items: ItemsDefinition, stratify: Stratified
) -> list[str]:
    """Draw a share of items that a system answers correctly, and the rest."""
    correct = _read_correctness(pool.dataset, stratify.system)
    count = items.count or 0
    wanted = {True: round(count * stratify.correct)}
    wanted[False] = count - wanted[True]
    chosen: list[str] = []
    for is_correct, number in wanted.items():
        stratum = [external_id for external_id in usable if correct.get(external_id) is is_correct]
        if len(stratum) < number:
            raise StudyRefused(
                ("items", "stratify"),
                "stratify needs %(n)s questions that %(system)s answers %(word)s, but every condition "
                "can show only %(there)s of them",
                n=number,
                system=stratify.system,
                word=say("correctly") if is_correct else say("wrongly"),
                there=len(stratum),
            )
        chosen += draw(stratum, number, items.seed or 0)
    return draw(chosen, count, items.seed or 0)


def _read_correctness(dataset: Dataset, system: str) -> dict[str, bool]:
    run = find_latest_run(dataset, system)
    if run is None:
        raise StudyRefused(
            ("items", "stratify", "system"),
            "there are no finished predictions of %(system)r on %(dataset)s",
            system=system,
            dataset=str(dataset),
        )
    rows = Prediction.objects.filter(run=run).values_list(
        "question__external_id", "question__answer", "answer"
    )
    return {external_id: hotpotqa.exact_match(gold, answer) for external_id, gold, answer in rows}


def _can_show(dataset: Dataset, condition: PlannedCondition) -> set[int]:
    """Return the keys of the questions that a condition can show.

    An empty answer shows nothing; a control condition without advice needs none.
    """
    if not condition.definition.advice:
        return set(Question.objects.filter(dataset=dataset).exclude(answer="").values_list("pk", flat=True))
    if condition.run is None:
        questions = Question.objects.filter(dataset=dataset).exclude(answer="")
        if condition.definition.explanation == "program":
            questions = questions.filter(steps__isnull=False)
        elif condition.definition.explanation != "none":
            questions = questions.filter(supporting_facts__isnull=False)
        return set(questions.values_list("pk", flat=True))
    predictions = Prediction.objects.filter(run=condition.run).exclude(answer="")
    if condition.definition.explanation == "program":
        predictions = predictions.filter(steps__isnull=False)
    if condition.definition.explanation in WITH_RATIONALE:
        predictions = predictions.filter(rationale__regex=r"\S")
    if condition.definition.explanation in WITH_TOKENS:
        weighed = Q(explanation_weights__isnull=False)
        if (
            condition.run.saliency is None
        ):  # else an item without weights would be highlighted by another measure
            weighed |= Q(fact_probabilities__isnull=False)
        predictions = predictions.filter(weighed)
    return set(predictions.values_list("question", flat=True))


def _check_named(ids: Sequence[str], field: str, pool: _Pool, taken: set[str]) -> None:
    for index, external_id in enumerate(ids):
        location = (field, "ids", index)
        if external_id not in pool.keys:
            raise StudyRefused(
                location,
                "%(dataset)s has no question with the id %(id)r",
                dataset=str(pool.dataset),
                id=external_id,
            )
        if external_id in taken:
            raise StudyRefused(location, "%(id)r is an item or an attention item already", id=external_id)
        if pool.changed is not None and external_id not in pool.changed.items:
            raise StudyRefused(location, pool.changed.explain_lack(external_id))
        for condition in pool.conditions:
            if pool.keys[external_id] not in pool.shows[condition.definition.name]:
                raise StudyRefused(
                    location,
                    "condition %(condition)r cannot show %(id)r: %(lack)s",
                    condition=condition.definition.name,
                    id=external_id,
                    lack=_explain_lack(pool, condition),
                )


def _explain_lack(pool: _Pool, condition: PlannedCondition) -> str:
    if condition.run is None:
        if condition.definition.explanation == "program":
            return say("its gold answer or its gold steps are unknown")
        return say("its gold answer or its gold facts are unknown")
    if condition.definition.explanation == "program":
        return say("no answer with the steps of a program from %(run)s", run=str(condition.run))
    if condition.definition.explanation in WITH_RATIONALE:
        return say("no answer with a rationale from %(run)s", run=str(condition.run))
    values = {
        "run": str(condition.run),
        "command": predict_command(pool.dataset, condition.definition.system),
    }
    if condition.definition.explanation in ("facts", "none"):
        return say("no answer from %(run)s; start a run under Systems, or: %(command)s", **values)
    return say("no answer with weights from %(run)s; start a run under Systems, or: %(command)s", **values)


def _explain_shortage(wanted: int, usable: int, pool: _Pool) -> str:
    alone = {name: len(shown) for name, shown in pool.shows.items()}
    if pool.changed is not None:
        alone[pool.changed.dataset.name] = len(pool.changed.items)
    each = ", ".join(f"{name} {number}" for name, number in alone.items())
    if wanted > len(pool.keys) or all(len(shown) == len(pool.keys) for shown in pool.shows.values()):
        return say(
            "%(wanted)s questions requested, but every condition can show only %(usable)s of the %(all)s "
            "questions of %(dataset)s; lower the number",
            wanted=wanted,
            usable=usable,
            all=len(pool.keys),
            dataset=str(pool.dataset),
        )
    return say(
        "%(wanted)s questions requested, but every condition can show only %(usable)s of the %(all)s "
        "questions of %(dataset)s (each alone: %(each)s); a run under Systems, or "
        "`.venv/bin/python manage.py predict --dataset %(dataset)s --system NAME`, fills gaps",
        wanted=wanted,
        usable=usable,
        all=len(pool.keys),
        dataset=str(pool.dataset),
        each=each,
    )


def _attention(dataset: Dataset, index: int, row: AttentionDefinition) -> FrozenAttention:
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
                raise StudyRefused(("exclusions", index, "item_id"), message_of(error)) from error


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


def _content(
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
        for name, members in groups_of(definition.design, definition.conditions).items()
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
        saliency=_saliency(condition),
        shown=shown,
    )


def _saliency(condition: PlannedCondition) -> str:
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
            **_tokens(condition, index, row),
            steps=row.steps if has_steps else None,
            rationale=row.rationale if condition.definition.explanation in WITH_RATIONALE else None,
        )
        for row in predictions
    }


def _tokens(condition: PlannedCondition, index: int, prediction: Prediction) -> dict[str, Any]:
    """Return the highlighted pieces of articles and question.

    They come from weights of tokens, else from the probabilities of facts.
    """
    if condition.definition.explanation not in WITH_TOKENS:
        return {}
    question = prediction.question
    if prediction.explanation_weights is None:
        weights = fact_weights(question.context, prediction.fact_probabilities or [])
        return {"tokens": highlights(weights).context}
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
    pieces = highlights(weights, asked)
    is_known = prediction.question_weights is not None
    return {"tokens": pieces.context, "question_tokens": pieces.question if is_known else None}
