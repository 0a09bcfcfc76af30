"""Reads of the answers that people gave themselves, and of what they earn."""

from collections.abc import Iterator, Mapping
from decimal import Decimal
from types import UnionType

from django.db.models import Count, Q, QuerySet

from analysis.scores import hotpotqa
from studyapp.definition.task_designs.task_questions import ADVICE_PAGES, is_prediction_right
from studyapp.definition.tasks import Advice, Bonus, Predicting
from studyapp.models import Item, JudgedAnswer, Mode, Outcome, Participant, Study, StudyVersion, Trial
from studyapp.queries.design.correctness import Answer, read_decided_answers
from studyapp.queries.design.decisions import hash_answer
from studyapp.queries.studies import load_frozen_study, map_condition_names
from studyapp.rules.survey_pages import merge_answers

# Bots give made-up answers, which nobody has to judge.
_PEOPLE = (Mode.LIVE, Mode.PILOT)


def find_missed_answers_of_people(study: Study) -> Iterator[Answer]:
    """Yield the answers of people that miss the gold answer, with repetitions.

    Those of people who withdrew are left out.
    """
    rows = exclude_withdrawn(Trial.objects.filter(participant__version__in=_list_versions(study)))
    for question, gold, answer in _read_own_answers(rows.filter(participant__mode__in=_PEOPLE)):
        if not hotpotqa.exact_match(gold or "", answer):
            yield question, answer


def exclude_withdrawn(trials: QuerySet[Trial]) -> QuerySet[Trial]:
    """Leave out the items of participants who withdrew."""
    return trials.exclude(participant__status=Participant.Status.WITHDRAWN)


def list_answer_keys(trials: QuerySet[Trial]) -> set[tuple[int, str]]:
    """Return question and digest of the answers that people gave themselves."""
    return {(question, hash_answer(answer)) for question, _gold, answer in _read_own_answers(trials)}


def _read_own_answers(trials: QuerySet[Trial]) -> Iterator[tuple[int, str | None, str]]:
    """Yield question, gold answer and own answer, with repetitions."""
    rows = trials.filter(item__question__isnull=False, earlier__isnull=False).order_by("pk")
    for question, gold, earlier in rows.values_list("item__question", "item__gold_answer", "earlier"):
        given = merge_answers(earlier)
        for page in ADVICE_PAGES:
            if answer := given.get(f"{page}_answer"):
                yield question, gold, answer


def count_decisions(study: Study) -> int:
    """Count what judges decided about answers to questions with own answers.

    It grows with each judgement and each decision, which count in the data of people at once. Decisions about
    other studies count once they are applied, so there it is 0.
    """
    versions = _list_versions(study)
    if not versions:
        return 0
    questions = Item.objects.filter(version__in=versions, question__isnull=False).values("question")
    counts = JudgedAnswer.objects.filter(question__in=questions).aggregate(
        judgements=Count("judgements"),
        settled=Count("pk", filter=Q(is_correct__isnull=False), distinct=True),
    )
    return counts["judgements"] + counts["settled"]


def has_own_answer_task(study: Study) -> bool:
    """Return whether a study asks people for answers of their own."""
    return bool(_list_versions(study))


def find_currency(study: Study) -> str:
    """Return the currency of the newest promised bonus; empty without one."""
    promised = [bonus.currency for _version, bonus in _list_promised_bonuses(study)]
    return promised[-1] if promised else ""


def compute_bonuses(study: Study) -> dict[str, Decimal]:
    """Return the bonus of participants who completed, by public ID.

    It is for final answers to items that are correct, as judges decided, else by exact match, or for right
    predictions. Practice and attention items earn nothing.
    """
    decided = read_decided_answers(study)
    earned: dict[str, Decimal] = {}
    for version, bonus in _list_promised_bonuses(study):
        rows = Trial.objects.filter(
            participant__version=version,
            participant__outcome=Outcome.DONE,
            item__kind=Item.Kind.ITEM,
            answers__isnull=False,
        )
        for row in rows.values_list(
            "participant__public_id", "item__question", "item__gold_answer", "answers",
            "condition", "item__external_id",
        ):  # fmt: skip
            who, question, gold, given, condition, item = row
            answers = given or {}
            if isinstance(load_frozen_study(version).task, Predicting):
                shown = (
                    load_frozen_study(version).condition(map_condition_names(version)[condition]).shown[item]
                )
                is_right = is_prediction_right(answers, shown) is True
            else:
                is_right = _is_correct(answers.get("final_answer"), question, gold, decided)
            earned[who] = earned.get(who, Decimal(0)) + is_right * Decimal(str(bonus.per_correct))
    cents = {who: amount.quantize(Decimal("0.01")) for who, amount in earned.items()}
    return {who: amount for who, amount in cents.items() if amount}


def _is_correct(
    answer: str | None, question: int | None, gold: str | None, decided: Mapping[tuple[int, str], bool]
) -> bool:
    if answer is None:
        return False
    is_judged = question is not None and decided.get((question, hash_answer(answer)), False)
    return hotpotqa.exact_match(gold or "", answer) or is_judged


def _list_promised_bonuses(study: Study) -> list[tuple[StudyVersion, Bonus]]:
    """Return the versions that promise a bonus, oldest first."""
    tasks = [
        (version, load_frozen_study(version).task) for version in _list_versions(study, Advice | Predicting)
    ]
    return [(version, bonus) for version, task in tasks if (bonus := getattr(task, "bonus", None))]


def _list_versions(study: Study, kinds: UnionType | type = Advice) -> list[StudyVersion]:
    versions = study.versions.defer("frozen").order_by("number")
    return [version for version in versions if isinstance(load_frozen_study(version).task, kinds)]
