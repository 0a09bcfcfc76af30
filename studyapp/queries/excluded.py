"""The exclusion rules of a study as conditions of the database.

Pages count and filter with them; exports and reports apply `analysis.participants.exclusion_rules`. A test
compares the two for every kind of rule.
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
    Q,
    QuerySet,
    Value,
    When,
)

from studyapp.definition.freezing import (
    AnsweredNumberRule,
    AnsweredRule,
    FlaggedRule,
    ItemRule,
    MaxTimeRule,
    MinTimeRule,
)
from studyapp.models import Item, Mode, Participant, Study, Trial
from studyapp.queries.people import known_flags
from studyapp.queries.studies import frozen

_TOOK = ExpressionWrapper(F("submitted_at") - F("shown_at"), DurationField())


def with_exclusion(study: Study, rows: QuerySet[Trial]) -> QuerySet[Any]:
    """Annotate trials with ``is_excluded``: by a rule, or by hand."""
    hit = Q(participant__exclusion__isnull=False)
    for version in study.versions.defer("frozen"):
        rules = [_condition(study, rule) for rule in frozen(version).rules]
        hit |= Q(participant__version=version) & reduce(or_, rules, Q(pk__in=()))
    # Not a plain negation: what compares with a missing value is neither true nor false.
    excluded = Case(When(hit, then=Value(True)), default=Value(False), output_field=BooleanField())
    return rows.annotate(took=_TOOK).annotate(is_excluded=excluded)


def excluded_counts(study: Study) -> tuple[int, int]:
    """Return the numbers of submitted and of excluded live trials."""
    rows = Trial.objects.filter(
        participant__version__study=study,
        participant__mode=Mode.LIVE,
        item__kind=Item.Kind.ITEM,
        answers__isnull=False,
    ).exclude(participant__status=Participant.Status.WITHDRAWN)
    return rows.count(), with_exclusion(study, rows).filter(is_excluded=True).count()


def _condition(study: Study, rule: Any) -> Q:
    build = _BUILT[type(rule)]
    return build(study, rule)


def _time(rule: MinTimeRule | MaxTimeRule, word: str) -> Q:
    if rule.clock == "server":
        return Q(**{f"took__{word}": timedelta(milliseconds=rule.milliseconds)})
    return Q(**{f"{rule.clock}_ms__{word}": rule.milliseconds})


def _bounds(rule: AnsweredNumberRule) -> Q:
    bounds = {"gte": rule.at_least, "lte": rule.at_most}
    return Q(**{f"answers__{rule.question}__{word}": n for word, n in bounds.items() if n is not None})


def _flagged(study: Study, rule: FlaggedRule) -> Q:
    return Q(participant__in=[pk for pk, flags in known_flags(study).items() if rule.flag in flags])


_BUILT: Mapping[type, Callable[[Study, Any], Q]] = {
    MinTimeRule: lambda _study, rule: _time(rule, "lt"),
    MaxTimeRule: lambda _study, rule: _time(rule, "gt"),
    AnsweredRule: lambda _study, rule: Q(**{f"answers__{rule.question}": rule.value}),
    AnsweredNumberRule: lambda _study, rule: _bounds(rule),
    ItemRule: lambda _study, rule: Q(item__external_id=rule.item_id),
    FlaggedRule: _flagged,
}
