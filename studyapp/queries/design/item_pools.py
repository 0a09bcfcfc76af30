"""The questions that every condition can show, and items drawn of them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from django.db.models import Q

from analysis.scores import hotpotqa
from foundation.messages import say
from predictions.models import Dataset, Prediction, PredictionRun, Question
from predictions.queries.predictions import find_latest_run
from studyapp.definition.conditions import ConditionDefinition, ItemsDefinition, Stratified
from studyapp.definition.frozen.freezing import WITH_RATIONALE, WITH_TOKENS
from studyapp.definition.task_designs.candidates import shuffle_texts
from studyapp.errors import StudyRefused
from studyapp.queries.design.changed_items import ChangedItems, predict_command
from studyapp.queries.design.simulated_items import SimulatedItems


@dataclass(frozen=True)
class PlannedCondition:
    """A condition with the run that it shows.

    ``run`` is None for the ground truth, and for a control condition without advice.
    """

    definition: ConditionDefinition
    run: PredictionRun | None


@dataclass(frozen=True)
class ItemPool:
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


def build_item_pool(
    dataset: Dataset,
    conditions: Sequence[PlannedCondition],
    changed: ChangedItems | None,
    simulated: SimulatedItems | None,
) -> ItemPool:
    """Collect the questions of the dataset that each condition can show.

    Raises:
        StudyRefused: No question has what a condition would show.
    """
    keys = dict(Question.objects.filter(dataset=dataset).values_list("external_id", "pk"))
    shows = {}
    for index, condition in enumerate(conditions):
        shown = shows[condition.definition.name] = _can_show(dataset, condition)
        if not shown and (lack := _explain_general_lack(condition)):
            raise StudyRefused(("conditions", index, "explanation"), lack)
    return ItemPool(dataset, conditions, keys, shows, changed, simulated)


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


def select_items(pool: ItemPool, field: str, items: ItemsDefinition, taken: set[str]) -> list[Question]:
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
        ids = pool.simulated.choose_items(
            items, [external_id for external_id in pool.usable if external_id not in taken]
        )
    by_key = Question.objects.in_bulk([pool.keys[external_id] for external_id in ids])
    return [by_key[pool.keys[external_id]] for external_id in ids]


def draw(external_ids: Sequence[str], count: int, seed: int) -> list[str]:
    """Draw different IDs by a hash of seed and ID."""
    return shuffle_texts(external_ids, seed)[:count]


def _draw_stratified(
    pool: ItemPool, usable: Sequence[str], items: ItemsDefinition, stratify: Stratified
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


def _check_named(ids: Sequence[str], field: str, pool: ItemPool, taken: set[str]) -> None:
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


def _explain_lack(pool: ItemPool, condition: PlannedCondition) -> str:
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


def _explain_shortage(wanted: int, usable: int, pool: ItemPool) -> str:
    alone = {name: len(shown) for name, shown in pool.shows.items()}
    if pool.changed is not None:
        alone[pool.changed.dataset.name] = len(pool.changed.items)
    counts = ", ".join(f"{name} {number}" for name, number in alone.items())
    values = {"wanted": wanted, "usable": usable, "all": len(pool.keys), "dataset": str(pool.dataset)}
    if wanted > len(pool.keys) or all(len(shown) == len(pool.keys) for shown in pool.shows.values()):
        return say(
            "%(wanted)s questions requested, but every condition can show only %(usable)s of the %(all)s "
            "questions of %(dataset)s; lower the number",
            **values,
        )
    return say(
        "%(wanted)s questions requested, but every condition can show only %(usable)s of the %(all)s "
        "questions of %(dataset)s (each alone: %(each)s); a run under Systems, or "
        "`.venv/bin/python manage.py predict --dataset %(dataset)s --system NAME`, fills gaps",
        **values,
        each=counts,
    )
