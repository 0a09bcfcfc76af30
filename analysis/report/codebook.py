"""Codebook of a report's tables: every column with type and meaning.

It is written as a Frictionless data package (Table Schema), which R, Python and spreadsheets read.
"""

import json
from collections.abc import Iterable, Sequence
from numbers import Integral, Real
from typing import NamedTuple

from ..participants.tasks import TASKS, find_measure
from ..scores.score_table import find_score

_MEANINGS = dict(
    line.split(": ", 1)
    for line in """\
about: trait of the sample
aggregation: average over the participants
alpha: reliability: Cronbach's alpha of a scale, Krippendorff's alpha of ratings
answers: answers shown
cliffs_delta: Cliff's delta, second against first condition
coefficient: name of the correlation coefficient
condition: name of the condition
correct: answers that count as correct
definition: formula or meaning
desirable: choosing the system with the better score helps or harms the human measure
difference: second condition minus first; a ratio for geometric means
exact_match: value by exact match alone
excluded: excluded trials
excluded_by: rules that exclude the trial, separated by semicolons
excluded_percent: excluded trials in percent
exclusions: with or without the exclusion rules
file: name of the file
first: first condition of the comparison
hedges_g: standardised difference
item: ID of the item
item_id: ID of the item
items: number of items
judged: value with the correctness as judged
kendall: Kendall's tau-b
left_out: system left out
measure: key of the human measure
metric: level of measurement of the answers
missing: ratings that are missing
n: systems or ratings that enter
neither: universes in which the ranks neither agree nor are reversed
omega: McDonald's omega
only_by_rule: trials that no other rule excludes
outcome: what the model explains
p: p value, not corrected
p_holm: p corrected by Holm's method over the family
p_method: method of the p value
paired: the same participants saw both conditions
participant_id: pseudonym of the participant
participants: participants with a value
pearson: Pearson's r
pooled: the same formula over all trials at once
position: place in the participant's order
positions: places in the participant's order
question: role or key of the question
rank: + the ranking agrees, - it is reversed, empty: neither
ratings: ratings that enter
ratio: second condition divided by first
reason: reason that a value is missing
reference_sign: sign in this report
retained: the trial counts in the results
reversed: universes with the reversed ranking
rule: name of the exclusion rule
rules: names of exclusion rules
same_direction: share of universes with the same direction
same_ranking: universes with the same ranking
same_sign: share of universes with the sign of this report
score: key of the model score, or name of the scale's score
second: second condition of the comparison
seconds: completion time in seconds
sha256: SHA-256 of the file
sign: + the ranking agrees, - it is reversed, empty: neither
smallest_p: smallest p that so few systems can reach
source: source of the key
spearman: Spearman's rho
standard_error: standard error
statistic: name or value of the statistic
submitted: submitted trials
summary: average over a participant's times
superiority: probability that the second condition has the higher value
system: name of the system in the scores file
system_correct: the system's answer is correct
tied: the ranking has a tie
trait: key of the measure
trials: trials that enter
undefined: participants, or universes, without a defined value
unit: unit of the measure; shares are from 0 to 1
universes: combinations of rules and averages
value: value of the measure or statistic; shares are from 0 to 1
version: installed version
wanted: better direction
""".splitlines()
)
_BOUNDS = {"low": "lower", "high": "upper"}


class CsvFile(NamedTuple):
    """A table as its CSV file holds it."""

    name: str
    title: str
    header: Sequence[str]
    rows: Sequence[Sequence[object]]


def build_tables_schema(files: Iterable[CsvFile]) -> str:
    """Return the codebook of the files as JSON text."""
    resources = [
        {
            "name": file.name.replace("_", "-"),
            "path": f"{file.name}.csv",
            "title": file.title,
            "schema": {
                "fields": [
                    {
                        "name": name,
                        "type": _infer_column_type(row[column] for row in file.rows),
                        "description": describe_column(name),
                    }
                    for column, name in enumerate(file.header)
                ],
                "missingValues": [""],
            },
        }
        for file in sorted(files)
    ]
    package = {"profile": "tabular-data-package", "name": "tables", "resources": resources}
    return json.dumps(package, indent=1, ensure_ascii=False) + "\n"


def describe_column(column: str) -> str:
    """Describe a column by its name.

    Examples:
        >>> describe_column("hedges_g_low")
        'lower confidence bound: standardised difference'
    """
    name, _, end = column.rpartition("_")
    if end in _BOUNDS or column in _BOUNDS:
        of = describe_column(name) if name else "value"
        return f"{_BOUNDS[end]} confidence bound: {of}"
    if column in _MEANINGS:
        return _MEANINGS[column]
    if measure := find_measure(column):
        return f"{measure.label}: {measure.definition}"
    if own := next((task.item_shares[column] for task in TASKS.values() if column in task.item_shares), ""):
        return own
    if score := find_score(column):
        return f"model score {score.label}"
    return column.replace("_", " ")


def _infer_column_type(values: Iterable[object]) -> str:
    """Return the narrowest type that all values have."""
    types = {_infer_value_type(value) for value in values if value is not None}
    if types == {"integer", "number"}:
        return "number"
    return types.pop() if len(types) == 1 else "string"


def _infer_value_type(value: object) -> str:
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, Integral):
        return "integer"
    return "number" if isinstance(value, Real) else "string"
