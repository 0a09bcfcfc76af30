"""The exclusion rules of a study as conditions of the database.

A trial remembers from its submission on if a rule hits it, because rules never change. Rules about
participants, and exclusions by hand, are asked when a page counts or filters. Exports and reports apply
`analysis.participants.exclusion_rules`; a test compares the two for every kind of rule.
"""

from collections.abc import Callable, Mapping
from datetime import timedelta
from functools import reduce
from operator import or_
from typing import Any

from django.db.models import (
    BooleanField,
    Case,
    DurationField,
    ExpressionWrapper,
    F,
    JSONField,
    Q,
    QuerySet,
    Sum,
    Value,
    When,
)
from django.db.models.fields.json import KeyTransform, KeyTransformExact, KeyTransformGte, KeyTransformLte
from django.db.models.lookups import GreaterThan, GreaterThanOrEqual

from analysis.participants.exclusion_rules import (
    LEAST_ALIKE,
    Answered,
    AnsweredNumber,
    ComprehensionTries,
    DuplicateAnswers,
    ExcludedTrials,
    FailedAttention,
    Flagged,
    MaxTime,
    MinTime,
    PersonRule,
    StraightLining,
    WholeItem,
)
from studyapp.models import Mode, Participant, Study, StudyVersion, Trial
from studyapp.queries.participants import facts as person_facts
from studyapp.queries.participants.flags import match_flag
from studyapp.queries.studies import load_frozen_study


def annotate_exclusion(study: Study, rows: QuerySet[Trial]) -> QuerySet[Any]:
    """Annotate submitted trials with ``is_excluded``: by a rule, or by hand."""
    hit = Q(hits_rule=True) | Q(participant__in=find_excluded_people(study).values("pk"))
    excluded = Case(When(hit, then=Value(True)), default=Value(False), output_field=BooleanField())
    return rows.annotate(is_excluded=excluded)


def count_excluded_trials(study: Study) -> tuple[int, int]:
    """Return the numbers of submitted and of excluded live trials."""
    live = Participant.objects.filter(version__study=study, mode=Mode.LIVE)
    people = live.exclude(status=Participant.Status.WITHDRAWN)
    is_whole = Q(pk__in=find_excluded_people(study).values("pk"))
    hits = Case(When(is_whole, then=F("items_submitted")), default=F("rule_hits"))
    counts = people.aggregate(items=Sum("items_submitted", default=0), hits=Sum(hits, default=0))
    return counts["items"], counts["hits"]


def find_excluded_people(study: Study) -> QuerySet[Participant]:
    """Return the participants of whom every trial is excluded."""
    condition = Q(exclusion__isnull=False)
    for version in study.versions.defer("frozen"):
        for rule in load_frozen_study(version).rules:
            if isinstance(rule, PersonRule):
                condition |= Q(version=version) & _OF_PEOPLE[type(rule)](rule, version)
    return Participant.objects.filter(condition, version__study=study)


def annotate_time(rows: QuerySet[Trial]) -> QuerySet[Any]:
    """Annotate trials with what `build_rule_condition` reads."""
    return rows.annotate(took=ExpressionWrapper(F("submitted_at") - F("shown_at"), DurationField()))


def build_rule_condition(version: StudyVersion) -> Q | None:
    """Return the condition that a rule hits a trial; None without rules.

    Rules about participants are no part of it.
    """
    rules = [rule for rule in load_frozen_study(version).rules if not isinstance(rule, PersonRule)]
    return reduce(or_, (_BUILT[type(rule)](rule) for rule in rules)) if rules else None


def _match_time(rule: MinTime | MaxTime, word: str) -> Q:
    # A clock that was set back in between does not tell the time.
    server = Q(**{f"took__{word}": timedelta(milliseconds=rule.milliseconds)}, took__gte=timedelta())
    if rule.clock == "server":
        return server
    column = f"{rule.clock}_ms"
    # Without JavaScript the browser tells no time, and the server's clock decides.
    return Q(**{f"{column}__{word}": rule.milliseconds}) | Q(**{f"{column}__isnull": True}) & server


def _match_bounds(rule: AnsweredNumber) -> Q:
    bounds = ((KeyTransformGte, rule.at_least), (KeyTransformLte, rule.at_most))
    return Q(*(holds(_extract_answer(rule), _build_json_value(n)) for holds, n in bounds if n is not None))


def _extract_answer(rule: Answered | AnsweredNumber) -> KeyTransform:
    # In ``answers__KEY``, Django would take keys such as ``contains`` or ``a__b`` for lookups.
    return KeyTransform(rule.question, "answers")


def _build_json_value(value: Any) -> Value:
    return Value(value, JSONField())


def _match_participants(rows: QuerySet[Any]) -> Q:
    return Q(pk__in=rows.values("participant"))


def _select_participants(version: StudyVersion) -> QuerySet[Participant]:
    return Participant.objects.filter(version=version).exclude(status=Participant.Status.WITHDRAWN)


def _match_mostly_excluded(rule: ExcludedTrials, _version: StudyVersion) -> Q:
    return Q(GreaterThan(F("rule_hits") * 100.0, F("items_submitted") * rule.more_than_percent))


def _match_straight_lining(rule: StraightLining, version: StudyVersion) -> Q:
    alike = person_facts.count_alike_items(version, _select_participants(version))
    if rule.at_least_items is not None:
        return _match_participants(alike.filter(n__gte=rule.at_least_items))
    items = F("participant__items_submitted") * float(rule.at_least_percent or 0)
    return _match_participants(alike.filter(GreaterThanOrEqual(F("n") * 100.0, items), n__gte=LEAST_ALIKE))


def _match_duplicates(rule: DuplicateAnswers, version: StudyVersion) -> Q:
    if rule.of == "all":
        return match_flag("identical_pattern")
    return Q(pk__in=person_facts.duplicate_texts(version.study, _select_participants(version)))


# The condition of a rule about participants, of a version.
_OF_PEOPLE: Mapping[type, Callable[[Any, StudyVersion], Q]] = {
    Flagged: lambda rule, _version: match_flag(rule.flag),
    FailedAttention: lambda rule, version: _match_participants(
        person_facts.count_failed_attention(_select_participants(version)).filter(n__gte=rule.at_least_failed)
    ),
    ExcludedTrials: _match_mostly_excluded,
    ComprehensionTries: lambda rule, version: _match_participants(
        person_facts.count_comprehension_tries(_select_participants(version)).filter(
            n__gte=rule.at_least_tries
        )
    ),
    StraightLining: _match_straight_lining,
    DuplicateAnswers: _match_duplicates,
}
_BUILT: Mapping[type, Callable[[Any], Q]] = {
    MinTime: lambda rule: _match_time(rule, "lt"),
    MaxTime: lambda rule: _match_time(rule, "gt"),
    Answered: lambda rule: Q(KeyTransformExact(_extract_answer(rule), _build_json_value(rule.value))),
    AnsweredNumber: _match_bounds,
    WholeItem: lambda rule: Q(item__external_id=rule.item_id),
}
