"""Figures of participants that rules about participants read.

Live pages filter by the queries, exports write their values, and `analysis.participants.exclusion_rules`
applies the rules to those: a test holds both equal.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from django.db.models import Count, Q, QuerySet
from django.db.models.fields.json import KeyTransform

from analysis.participants.exclusion_rules import PERSON_COLUMNS
from studyapp.definition.exclusion_rules import SCALE_KINDS
from studyapp.definition.participation import suspicion_flags
from studyapp.models import (
    Item,
    Participant,
    Stage,
    StageResponse,
    Study,
    StudyVersion,
    SurveyResponse,
    Trial,
)
from studyapp.queries.participants.flags import match_flag
from studyapp.queries.studies import load_frozen_study

Facts = dict[str, Any]


def read_person_facts(
    study: Study, keys: Collection[int] | None = None, *, with_trials: bool = False
) -> dict[int, Facts]:
    """Return what rules read of each participant who did not withdraw, by key.

    Args:
        study: The study.
        keys: Of these participants only.
        with_trials: Add the numbers of submitted and excluded trials, for tables that hold some trials only:
            one of all trials counts them itself.
    """
    people = Participant.objects.filter(version__study=study).exclude(status=Participant.Status.WITHDRAWN)
    compared = people
    if keys is not None:
        people = people.filter(pk__in=keys)
    failed, tries = (
        _find_largest_numbers(count_failed_attention(people)),
        _find_largest_numbers(count_comprehension_tries(people)),
    )
    alike: dict[int, int] = {}
    for version in study.versions.defer("frozen"):
        alike |= _find_largest_numbers(count_alike_items(version, people))
    twice = set(people.filter(match_flag("identical_pattern")).values_list("pk", flat=True))
    typed = duplicate_texts(study, compared)
    facts: dict[int, Facts] = {}
    for key, submitted, hits in people.values_list("pk", "items_submitted", "rule_hits"):
        values = (failed.get(key, 0), tries.get(key, 0), alike.get(key, 0), key in twice, key in typed)
        facts[key] = dict(zip(PERSON_COLUMNS, values, strict=True))
        if with_trials:
            facts[key] |= {"items_submitted": submitted, "trials_excluded": hits}
    return facts


def count_failed_attention(people: QuerySet[Participant]) -> QuerySet[Any]:
    """Count the failed attention items as ``n`` by ``participant``."""
    rows = Trial.objects.filter(participant__in=people.values("pk"), passed=False)
    return rows.order_by().values("participant").annotate(n=Count("pk"))


def count_comprehension_tries(people: QuerySet[Participant]) -> QuerySet[Any]:
    """Count the tries of the comprehension check as ``n`` by ``participant``."""
    rows = StageResponse.objects.filter(participant__in=people.values("pk"), stage=Stage.COMPREHENSION)
    return rows.filter(answers__isnull=False).order_by().values("participant").annotate(n=Count("pk"))


def count_alike_items(version: StudyVersion, people: QuerySet[Participant]) -> QuerySet[Any]:
    """Count items with the same scale answers as ``n`` by ``participant``.

    A participant has a row for each different combination of answers; items without any answer on a scale
    are left out.
    """
    keys = [
        question.key
        for question in load_frozen_study(version).item_questionnaire
        if question.kind in SCALE_KINDS
    ]
    scales = {f"scale_{number}": KeyTransform(key, "answers") for number, key in enumerate(keys)}
    rows = Trial.objects.filter(participant__in=people.filter(version=version).values("pk"))
    rows = rows.filter(answers__isnull=False, item__kind=Item.Kind.ITEM).order_by()
    if not keys:
        return rows.none().values("participant").annotate(n=Count("pk"))
    answered = Q(*((f"{scale}__isnull", False) for scale in scales), _connector=Q.OR)
    return rows.annotate(**scales).filter(answered).values("participant", *scales).annotate(n=Count("pk"))


def duplicate_texts(study: Study, people: QuerySet[Participant]) -> set[int]:
    """Return the participants who typed a text that another one typed too.

    They are compared within version and mode, and by question.
    """
    writers: dict[tuple[Any, ...], set[int]] = defaultdict(set)
    for version in study.versions.defer("frozen"):
        content = load_frozen_study(version)
        own = people.filter(version=version)
        for rows, questions in (
            (Trial.objects.filter(item__kind=Item.Kind.ITEM), content.item_questionnaire),
            (SurveyResponse.objects.all(), content.post_survey),
        ):
            keys = [question.key for question in questions if question.kind == "text"]
            for who, mode, answers in _read_answers(rows, own) if keys else ():
                for key, text in _read_typed_texts(answers, keys):
                    writers[version.pk, mode, key, text].add(who)
    return {who for alike in writers.values() if len(alike) > 1 for who in alike}


def _read_answers(
    rows: QuerySet[Any], people: QuerySet[Participant]
) -> Iterable[tuple[int, str, Mapping[str, Any]]]:
    own = rows.filter(participant__in=people.values("pk"), answers__isnull=False).order_by()
    return own.values_list("participant_id", "participant__mode", "answers").iterator(chunk_size=5000)


def _read_typed_texts(answers: Mapping[str, Any], keys: Sequence[str]) -> Iterator[tuple[str, str]]:
    for key in keys:
        text = suspicion_flags.normalise_typed_text(answers.get(key))
        if text is not None:
            yield key, text


def _find_largest_numbers(rows: QuerySet[Any]) -> dict[int, int]:
    """Return the largest number of each participant."""
    largest: dict[int, int] = {}
    for who, number in rows.values_list("participant", "n"):
        largest[who] = max(number, largest.get(who, 0))
    return largest
