"""Description of a sample: people, recruitment and checks passed.

It covers the participants who count: those of the analysed mode and version with a trial or a survey, without
those who withdrew. Traits that a bundle does not record are named, not left out.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

import pandas as pd

from .bundle import Bundle, CodebookColumn
from .study_version import Version

NOT_RECORDED = "not recorded"
NO_ANSWER = "no answer"
SCORE = "score"  # unit of the scores of scales


@dataclass(frozen=True)
class Fact:
    """One row of the description: how many have a value, or a statistic.

    Attributes:
        about: The trait, such as a question before the items.
        value: The value that is counted, or the name of a statistic.
        count: Participants with the value; None for a statistic.
        statistic: Of numbers; None for a count.
    """

    about: str
    value: str
    count: int | None = None
    statistic: float | None = None


def describe_sample(bundle: Bundle, version: Version, mode: str, people: pd.DataFrame) -> list[Fact]:
    """Describe the participants who count.

    people: their rows of the participants table.
    """
    flow = bundle.flow.get(mode)
    facts = [Fact("Recruitment platform", version.definition.platform or NOT_RECORDED, len(people))]
    facts += _count_values("Entry link", people["link_label"], other=None)
    facts += _count_values("Simulated by", people["behaviour"], other=None)
    if flow and flow.not_assigned:
        facts += [
            Fact("Not assigned to a condition", why.replace("_", " "), count)
            for why, count in flow.not_assigned.items()
            if count
        ]
    facts += _count_values("Language of the pages", people["language"], other=NOT_RECORDED)
    facts += _describe_answers(bundle, people["participant_id"])
    if version.definition.attention:
        facts += _count_values("Failed attention items", people["attention_failed"].map(_format_whole))
    if version.definition.comprehension:
        facts += _count_values(
            "Tries of the comprehension check", people["comprehension_tries"].map(_format_whole)
        )
    facts += _count_values("Device", people["device"], other=NOT_RECORDED)
    return [*facts, *_pay(version, people)]


def _pay(version: Version, people: pd.DataFrame) -> Iterator[Fact]:
    """Yield the declared pay, and the payments that the platform confirmed."""
    declared = version.definition.pay
    value = f"{declared.amount:.2f} {declared.currency}" if declared else NOT_RECORDED
    yield Fact("Declared pay", value, len(people))
    approved = people["approved"] == 1
    if approved.any():
        yield Fact("Submission approved", "yes", int(approved.sum()))
    for currency, paid in people.dropna(subset=["paid"]).groupby("paid_currency")["paid"]:
        yield Fact("Bonuses and screen-out pay", f"{paid.sum():.2f} {currency} in all", len(paid))


def _describe_answers(bundle: Bundle, people: pd.Series) -> Iterator[Fact]:
    """Yield the answers to the questions before the items."""
    if bundle.pre_survey is None:
        yield Fact("Demographics", NOT_RECORDED, len(people))
        return
    answers = bundle.pre_survey.set_index("participant_id").reindex(people)
    for column in bundle.pre_questions:
        values = answers[column.name]
        if column.is_number or column.unit == SCORE:
            yield from _describe_numbers(column, pd.to_numeric(values))
        else:
            yield from _count_values(column.meaning, values.map(column.label))


def _describe_numbers(column: CodebookColumn, values: pd.Series) -> Iterator[Fact]:
    about = f"{column.meaning} ({column.unit})" if column.unit else column.meaning
    given = values.dropna()
    yield Fact(about, "answered", len(given))
    if len(given):
        named = {"mean": given.mean(), "smallest": given.min(), "largest": given.max()}
        if len(given) > 1:
            named["standard deviation"] = given.std(ddof=1)
        yield from (Fact(about, name, statistic=float(value)) for name, value in named.items())


def _count_values(about: str, values: pd.Series, other: str | None = NO_ANSWER) -> list[Fact]:
    """Count each value, in their order, and then the missing ones as `other`."""
    counts = Counter(str(value) for value in values.dropna())
    facts = [Fact(about, value, counts[value]) for value in sorted(counts)]
    missing = int(values.isna().sum())
    return [*facts, Fact(about, other, missing)] if other is not None and missing else facts


def _format_whole(value: float) -> str | None:
    return None if pd.isna(value) else str(int(value))
