"""The table of responses: filtered rows of trials.csv, page by page."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from analysis.participants.exclusion_rules import PersonRule
from studyapp.exports.codebook import list_table_columns
from studyapp.exports.columns import Column
from studyapp.exports.rows import Tally, build_trial_row, mark_trial_rows
from studyapp.exports.study_data import StudyData
from studyapp.exports.writers import format_value, prepare
from studyapp.models import Study
from studyapp.queries.participants.facts import Facts, read_person_facts
from studyapp.queries.running.responses import (
    Key,
    ResponseFilter,
    build_page_key,
    filter_trials,
    list_trials_after,
)
from studyapp.queries.running.results import Row, list_verified_versions
from studyapp.queries.studies import load_frozen_study

PAGE = 100
BATCH = 1000  # rows that a file reads at once
# Shown unless the reader picks others, beside the answers.
SHOWN = ("participant_id", "condition", "item_id", "position", "server_ms", "system_correct", "excluded_by")

OWN_ANSWERS = (
    *("initial_answer", "initial_confidence", "advice", "final_answer", "final_confidence"),
    *("block", "left_condition", "right_condition"),
    *("predicted_answer", "predicted_correct", "cannot_tell", "system_answer", "prediction_right"),
)


@dataclass(frozen=True)
class ResponsePage:
    """A part of the table, and the key to continue with, None at the end."""

    rows: list[Row]
    after: Key | None


def load_response_data(study: Study, *, for_file: bool = False) -> StudyData:
    """Load what the rows of trials need.

    Args:
        study: The study; it may never have been launched.
        for_file: Prove that the versions are what was frozen, as every export.
    """
    read_facts: Callable[[Study], dict[int, Facts]]
    if for_file:
        versions, read_facts = list_verified_versions(study), _load_all_facts
    else:
        versions, read_facts = list(study.versions.defer("frozen").order_by("number")), _load_no_facts
    content = {version.number: load_frozen_study(version) for version in versions}
    return StudyData(study, versions, content, public=False, read_facts=read_facts)


def _load_no_facts(_study: Study) -> dict[int, Any]:
    return {}


def _load_all_facts(study: Study) -> dict[int, Facts]:
    """Return the facts with the numbers of trials: a file may hold some only."""
    return read_person_facts(study, with_trials=True)


def list_response_columns(data: StudyData) -> tuple[Column, ...]:
    """Return every column of the table."""
    return list_table_columns(data, "trials")


def list_default_columns(data: StudyData) -> list[str]:
    """Return the names of the columns that are shown at first."""
    answers = {
        column.name
        for question in data.questions("item_questionnaire")
        if not (column := question).name.startswith("changes_")
    }
    columns = list_response_columns(data)
    preferred = {column.name for column in columns if column.name.startswith("preferred_")}
    shown = answers | preferred | {*SHOWN, *OWN_ANSWERS}
    if preferred:  # of two conditions, no answer is the system's
        shown -= {"condition", "system_correct"}
    return [column.name for column in columns if column.name in shown]


def load_response_page(
    data: StudyData, chosen: ResponseFilter, *, after: Key | None = None, size: int = PAGE
) -> ResponsePage:
    """Return the next rows."""
    rows = filter_trials(data.study, chosen)
    trials = list_trials_after(rows, after, size + 1)
    keys = {row["participant_id"] for row in trials}
    if any(isinstance(rule, PersonRule) for content in data.frozen.values() for rule in content.rules):
        data = replace(data, read_facts=lambda study: read_person_facts(study, keys, with_trials=True))
    data = replace(data, flagged=keys)
    return ResponsePage(
        _build_rows(data, trials[:size]), build_page_key(trials[size - 1]) if len(trials) > size else None
    )


def read_responses(data: StudyData, chosen: ResponseFilter) -> Iterator[list[Row]]:
    """Yield every row that a filter lets through, in batches."""
    rows, after = filter_trials(data.study, chosen), None
    while trials := list_trials_after(rows, after, BATCH):
        yield _build_rows(data, trials)
        after = build_page_key(trials[-1])


def format_cells(columns: Sequence[Column], row: Row) -> list[Any]:
    """Return the values of a row as a CSV file has them.

    Numbers stay numbers, all else is text.
    """
    prepared = (prepare(column, row[column.name], public=False) for column in columns)
    return [value if type(value) in (int, float) else format_value(value) for value in prepared]


def _build_rows(data: StudyData, trials: Sequence[Row]) -> list[Row]:
    people = {
        row["pk"]: row for row in data.read_participants(list({row["participant_id"] for row in trials}))
    }
    columns = data.questions("item_questionnaire")
    rows = [build_trial_row(data, people[trial["participant_id"]], trial, columns) for trial in trials]
    return mark_trial_rows(data, rows, Tally(data))
