"""What a definition would freeze now: its dataset, runs and items, and the whole content."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from django.conf import settings
from django.db.models import Q

from analysis.scores import hotpotqa
from foundation.errors import NotFound
from foundation.image_files import image_folder
from foundation.messages import message_of, say
from modelserver.wire.schema import SaliencyOptions
from predictions.highlights import check_places, fact_weights, highlights
from predictions.models import Dataset, Prediction, PredictionRun, Question, System
from predictions.program_steps import IMAGES
from predictions.queries.data import dataset_named
from predictions.queries.predictions import latest_run
from predictions.saliency import method_name
from studyapp.definition.checks import AttentionDefinition, FrozenAttention
from studyapp.definition.conditions import ConditionDefinition, ItemsDefinition, Stratified, groups_of
from studyapp.definition.exclusion_rules import ItemDefinition, check_item_rule
from studyapp.definition.freezing import FrozenCondition, FrozenItem, FrozenStudy, Shown
from studyapp.definition.schema import Location, StudyDefinition
from studyapp.errors import StudyappError


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
    """A definition with what it refers to. ``questions`` are the items, in order; ``practice`` come first."""

    dataset: Dataset
    arms: list[Arm]
    questions: list[Question]
    practice: list[Question]
    content: FrozenStudy


def design(definition: StudyDefinition) -> Design:
    """Find the dataset, the runs and the items of a definition.

    Raises:
        StudyRefused: the dataset, a system or the language is unknown, a condition has nothing to show, or
            there are too few questions that every condition can show.
    """
    try:
        dataset = dataset_named(definition.dataset)
    except NotFound as error:
        raise StudyRefused(("dataset",), message_of(error)) from error
    _check_language(definition)
    arms = [_arm(dataset, place, condition) for place, condition in enumerate(definition.conditions)]
    pool = _pool(dataset, arms)
    attention = [_attention(dataset, place, row) for place, row in enumerate(definition.attention)]
    taken = {row.item for row in attention if row.item is not None}
    questions = _items(pool, "items", definition.items, taken)
    taken |= {question.external_id for question in questions}
    practice = _items(pool, "practice", definition.practice, taken) if definition.practice else []
    ids = [question.external_id for question in (*questions, *practice)]
    _check_attention(definition, attention, ids)
    _check_item_rules(definition, ids[: len(questions)])
    content = _content(definition, arms, questions, practice, attention)
    return Design(dataset, arms, questions, practice, content)


def _check_language(definition: StudyDefinition) -> None:
    spoken = [code for code, _name in settings.LANGUAGES]
    if definition.language not in spoken:
        raise StudyRefused(
            ("language",),
            say(
                "the pages of this site do not speak %(language)r; they speak %(spoken)s",
                language=definition.language,
                spoken=", ".join(spoken),
            ),
        )


def _arm(dataset: Dataset, place: int, condition: ConditionDefinition) -> Arm:
    if condition.system is None:
        return Arm(condition, None)
    location = ("conditions", place, "system")
    if not System.objects.filter(name=condition.system).exists():
        names = ", ".join(System.objects.order_by("name").values_list("name", flat=True))
        raise StudyRefused(
            location,
            say(
                "there is no system %(system)r; there is %(known)s",
                system=condition.system,
                known=names or say("none yet"),
            ),
        )
    run = latest_run(dataset, condition.system)
    if run is None:
        raise StudyRefused(
            location,
            say(
                "condition %(condition)r has no finished predictions on %(dataset)s; run: %(command)s",
                condition=condition.name,
                dataset=str(dataset),
                command=_predict(dataset, condition),
            ),
        )
    return Arm(condition, run)


def _predict(dataset: Dataset, condition: ConditionDefinition) -> str:
    return f"python manage.py predict --dataset {dataset} --system {condition.system} --wait"


@dataclass(frozen=True)
class _Pool:
    """What can be shown. ``known`` maps the ids of all questions to keys; ``shows`` has keys by condition."""

    dataset: Dataset
    arms: Sequence[Arm]
    known: Mapping[str, int]
    shows: Mapping[str, set[int]]

    @property
    def usable(self) -> list[str]:
        """Ids of the questions that every condition can show."""
        return [
            external_id for external_id, pk in self.known.items()
            if all(pk in shown for shown in self.shows.values())
        ]  # fmt: skip


def _pool(dataset: Dataset, arms: Sequence[Arm]) -> _Pool:
    known = dict(Question.objects.filter(dataset=dataset).values_list("external_id", "pk"))
    shows = {}
    for place, arm in enumerate(arms):
        shows[arm.definition.name] = _can_show(dataset, arm)
        if arm.definition.explanation in ("tokens", "both") and not shows[arm.definition.name]:
            raise StudyRefused(
                ("conditions", place, "explanation"),
                say(
                    "%(run)s came with neither weights of tokens nor probabilities of facts", run=str(arm.run)
                ),
            )
        if arm.definition.explanation == "program" and not shows[arm.definition.name]:
            raise StudyRefused(
                ("conditions", place, "explanation"),
                say("%(whose)s has no steps of programs", whose=_whose(arm)),
            )
    return _Pool(dataset, arms, known, shows)


def _whose(arm: Arm) -> str:
    return str(arm.run) if arm.run else say("the gold of this dataset")


def _items(pool: _Pool, field: str, items: ItemsDefinition, taken: set[str]) -> list[Question]:
    """The questions named, or those drawn among what every arm can show and nothing else has taken."""
    if items.ids is not None:
        _check_named(items.ids, field, pool, taken)
        ids = items.ids
    else:
        assert items.count is not None
        usable = [external_id for external_id in pool.usable if external_id not in taken]
        if len(usable) < items.count:
            raise StudyRefused((field, "count"), _too_few(items.count, len(usable), pool))
        ids = (
            _draw_stratified(pool, usable, items, items.stratify)
            if items.stratify
            else draw(usable, items.count, items.seed or 0)
        )
    by_key = Question.objects.in_bulk([pool.known[external_id] for external_id in ids])
    return [by_key[pool.known[external_id]] for external_id in ids]


def draw(external_ids: Sequence[str], count: int, seed: int) -> list[str]:
    """Draw ids by a hash of seed and id: whatever their order, and a question more changes little."""
    return sorted(
        external_ids, key=lambda external_id: hashlib.sha256(f"{seed}/{external_id}".encode()).digest()
    )[:count]


def _draw_stratified(
    pool: _Pool, usable: Sequence[str], items: ItemsDefinition, stratify: Stratified
) -> list[str]:
    """The share of items that the system answers correctly, and the rest of those that it does not."""
    correct = _answered_correctly(pool.dataset, stratify.system)
    count = items.count or 0
    wanted = {True: round(count * stratify.correct)}
    wanted[False] = count - wanted[True]
    chosen: list[str] = []
    for is_correct, number in wanted.items():
        stratum = [external_id for external_id in usable if correct.get(external_id) is is_correct]
        if len(stratum) < number:
            raise StudyRefused(
                ("items", "stratify"),
                say(
                    "%(n)s questions wanted that %(system)s answers %(word)s, but of those that every "
                    "condition can show it answers %(there)s so",
                    n=number,
                    system=stratify.system,
                    word=say("correctly") if is_correct else say("wrongly"),
                    there=len(stratum),
                ),
            )
        chosen += draw(stratum, number, items.seed or 0)
    return draw(chosen, count, items.seed or 0)


def _answered_correctly(dataset: Dataset, system: str) -> dict[str, bool]:
    run = latest_run(dataset, system)
    if run is None:
        raise StudyRefused(
            ("items", "stratify", "system"),
            say(
                "there are no finished predictions of %(system)r on %(dataset)s",
                system=system,
                dataset=str(dataset),
            ),
        )
    rows = Prediction.objects.filter(run=run).values_list(
        "question__external_id", "question__answer", "answer"
    )
    return {external_id: hotpotqa.exact_match(gold, answer) for external_id, gold, answer in rows}


def _can_show(dataset: Dataset, arm: Arm) -> set[int]:
    """Keys of the questions that an arm can show. An empty answer shows nothing."""
    if arm.run is None:
        known = Question.objects.filter(dataset=dataset).exclude(answer="")
        if arm.definition.explanation == "program":
            known = known.filter(steps__isnull=False)
        elif arm.definition.explanation != "none":
            known = known.filter(supporting_facts__isnull=False)
        return set(known.values_list("pk", flat=True))
    predictions = Prediction.objects.filter(run=arm.run).exclude(answer="")
    if arm.definition.explanation == "program":
        predictions = predictions.filter(steps__isnull=False)
    if arm.definition.explanation in ("tokens", "both"):
        weighed = Q(explanation_weights__isnull=False)
        if arm.run.saliency is None:  # else an item without weights would be highlighted by another measure
            weighed |= Q(fact_probabilities__isnull=False)
        predictions = predictions.filter(weighed)
    return set(predictions.values_list("question", flat=True))


def _check_named(ids: Sequence[str], field: str, pool: _Pool, taken: set[str]) -> None:
    for place, external_id in enumerate(ids):
        location = (field, "ids", place)
        if external_id not in pool.known:
            raise StudyRefused(
                location,
                say(
                    "%(dataset)s has no question with the id %(id)r",
                    dataset=str(pool.dataset),
                    id=external_id,
                ),
            )
        if external_id in taken:
            raise StudyRefused(
                location, say("%(id)r is an item or an attention item already", id=external_id)
            )
        for arm in pool.arms:
            if pool.known[external_id] not in pool.shows[arm.definition.name]:
                raise StudyRefused(
                    location,
                    say(
                        "condition %(condition)r cannot show %(id)r: %(lack)s",
                        condition=arm.definition.name,
                        id=external_id,
                        lack=_lack(pool, arm),
                    ),
                )


def _lack(pool: _Pool, arm: Arm) -> str:
    if arm.run is None:
        if arm.definition.explanation == "program":
            return say("its gold answer or its gold steps are unknown")
        return say("its gold answer or its gold facts are unknown")
    if arm.definition.explanation == "program":
        return say("no answer with the steps of a program from %(run)s", run=str(arm.run))
    told = {"run": str(arm.run), "command": _predict(pool.dataset, arm.definition)}
    if arm.definition.explanation in ("facts", "none"):
        return say("no answer from %(run)s; run: %(command)s", **told)
    return say("no answer with weights from %(run)s; run: %(command)s", **told)


def _too_few(wanted: int, usable: int, pool: _Pool) -> str:
    each = ", ".join(f"{name} {len(shown)}" for name, shown in pool.shows.items())
    return say(
        "%(wanted)s wanted, but every condition can show only %(usable)s of the %(all)s questions of "
        "%(dataset)s (each alone: %(each)s); `python manage.py predict --dataset %(dataset)s --system NAME` "
        "fills gaps",
        wanted=wanted,
        usable=usable,
        all=len(pool.known),
        dataset=str(pool.dataset),
        each=each,
    )


def _attention(dataset: Dataset, place: int, row: AttentionDefinition) -> FrozenAttention:
    """The attention item as it will be shown. Raises StudyRefused where it contradicts nothing."""
    question = None
    if row.item is not None:
        question = Question.objects.filter(dataset=dataset, external_id=row.item).first()
        if question is None:
            raise StudyRefused(
                ("attention", place, "item"),
                say("%(dataset)s has no question with the id %(id)r", dataset=str(dataset), id=row.item),
            )
        if not question.answer or not question.supporting_facts:
            raise StudyRefused(
                ("attention", place, "item"),
                say("the gold answer or facts of %(id)r are unknown", id=row.item),
            )
        if hotpotqa.exact_match(question.answer, row.answer or ""):
            raise StudyRefused(
                ("attention", place, "answer"),
                say("is the gold answer of %(id)r; it contradicts nothing", id=row.item),
            )
    return FrozenAttention(
        id=row.id,
        kind=row.kind,
        position=row.position,
        text=question.text if question else row.text or "",
        item=row.item,
        answer=row.answer,
        gold_answer=question.answer if question else None,
        context=question.context if question else None,
        facts=question.supporting_facts if question else None,
        expected=row.expected,
    )


def _check_attention(
    definition: StudyDefinition, attention: Sequence[FrozenAttention], ids: Sequence[str]
) -> None:
    for place, row in enumerate(attention):
        if row.id in ids:
            raise StudyRefused(("attention", place, "id"), say("%(id)r is the id of an item", id=row.id))
        if row.item in ids:
            raise StudyRefused(
                ("attention", place, "item"), say("%(id)r is an item of the study already", id=row.item)
            )


def _check_item_rules(definition: StudyDefinition, item_ids: Sequence[str]) -> None:
    for place, rule in enumerate(definition.exclusions):
        if isinstance(rule, ItemDefinition):
            try:
                check_item_rule(rule, item_ids)
            except ValueError as error:
                raise StudyRefused(("exclusions", place, "item_id"), message_of(error)) from error


def _content(
    definition: StudyDefinition,
    arms: Sequence[Arm],
    questions: Sequence[Question],
    practice: Sequence[Question],
    attention: Sequence[FrozenAttention],
) -> FrozenStudy:
    complete = definition.filled_translations()
    for language, lacking in definition.missing_texts().items():
        if lacking:
            del complete[language]
    groups = {
        condition.name: name if definition.design != "between" else ""
        for name, members in groups_of(definition.design, definition.conditions).items()
        for condition in members
    }
    return FrozenStudy(
        title=definition.title,
        language=definition.language,
        translations=complete,
        dataset=definition.dataset,
        items_seed=definition.items.seed,
        items=[_frozen_item(question) for question in questions],
        practice=[_frozen_item(question) for question in practice],
        attention=list(attention),
        design=definition.design,
        condition_order=definition.condition_order,
        conditions=[
            _frozen_arm(arm, place, groups[arm.definition.name], [*questions, *practice])
            for place, arm in enumerate(arms)
        ],
        screening=definition.screening,
        comprehension=definition.comprehension,
        pre_survey=definition.questionnaire.pre_survey,
        item_questionnaire=definition.questionnaire.item,
        post_survey=definition.questionnaire.post_survey,
        consent=definition.consent,
        instructions=definition.instructions,
        instructions_page=definition.instructions_page or definition.comprehension is not None,
        rules=[rule.freeze() for rule in definition.exclusions],
        order_seed=definition.order_seed,
        assignment_block=definition.assignment_block,
        stale_after_minutes=definition.stale_after_minutes,
        redirect_url=definition.completion.redirect_url,
        recruitment=definition.recruitment,
        privacy=definition.privacy,
    )


def _frozen_item(question: Question) -> FrozenItem:
    """A question as participants will see it. Raises StudyRefused where an image is gone."""
    images = IMAGES.validate_python(question.images)
    for image in images:
        if not (image_folder() / image.path).is_file():
            raise StudyRefused(
                ("dataset",),
                say(
                    "the image %(image)s of %(id)r is not in the image folder",
                    image=image.path,
                    id=question.external_id,
                ),
            )
    return FrozenItem(
        id=question.external_id,
        question=question.text,
        gold_answer=question.answer,
        context=question.context,
        images=images,
    )


def _frozen_arm(arm: Arm, place: int, group: str, questions: Sequence[Question]) -> FrozenCondition:
    return FrozenCondition(
        name=arm.definition.name,
        label=arm.definition.label,
        system=arm.definition.system,
        revision=arm.run.revision if arm.run else None,
        ground_truth=arm.run is None,
        weight=arm.definition.weight,
        explanation=arm.definition.explanation,
        group=group,
        saliency=_saliency(arm),
        shown=_shown(arm, place, questions),
    )


def _saliency(arm: Arm) -> str:
    """The method behind the highlighted words, where they come from the model server's saliency."""
    if arm.run is None or arm.run.saliency is None or arm.definition.explanation not in ("tokens", "both"):
        return ""
    return method_name(SaliencyOptions.model_validate(arm.run.saliency))


def _shown(arm: Arm, place: int, questions: Sequence[Question]) -> dict[str, Shown]:
    """What the arm shows, by item id. The ground truth shows the gold answer and the gold facts."""
    has_facts = arm.definition.explanation in ("facts", "both")
    has_steps = arm.definition.explanation == "program"
    if arm.run is None:
        return {
            question.external_id: Shown(
                answer=question.answer,
                facts=question.supporting_facts if has_facts else None,
                steps=question.steps if has_steps else None,
            )
            for question in questions
        }
    predictions = Prediction.objects.filter(run=arm.run, question__in=questions).select_related("question")
    return {
        row.question.external_id: Shown(
            answer=row.answer,
            facts=row.facts if has_facts else None,
            tokens=_tokens(arm, place, row),
            steps=row.steps if has_steps else None,
        )
        for row in predictions
    }


def _tokens(arm: Arm, place: int, prediction: Prediction) -> list[tuple[str, int, int, int, int]] | None:
    """The pieces that the arm highlights: by weights of tokens, else by the probabilities of facts."""
    if arm.definition.explanation not in ("tokens", "both"):
        return None
    context = prediction.question.context
    if prediction.explanation_weights is None:
        return highlights(fact_weights(context, prediction.fact_probabilities or []))
    weights = [tuple(row) for row in prediction.explanation_weights]
    try:
        check_places(context, weights)
    except ValueError as error:
        raise StudyRefused(
            ("conditions", place, "explanation"),
            say("the weights of %(run)s do not fit: %(error)s", run=str(arm.run), error=str(error)),
        ) from error
    return highlights(weights)
