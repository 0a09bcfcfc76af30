"""Rows of every exported table."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any, cast

from analysis.participants.exclusion_rules import (
    PERSON_COLUMNS,
    Exclusions,
    apply_rules,
    list_person_hits,
)
from foundation.database.days import measure_seconds
from studyapp.definition.frozen.freezing import FrozenStudy, has_stages
from studyapp.definition.questions.flow import select_visible_questions
from studyapp.definition.questions.questionnaires import ORDER_COLUMN
from studyapp.definition.tasks import Advice, Predicting, Preference
from studyapp.exports.columns import Column
from studyapp.exports.study_data import StudyData
from studyapp.exports.task_columns import (
    Judged,
    build_advice_cells,
    build_prediction_cells,
    build_preference_cells,
    build_task_columns,
)
from studyapp.queries.design.correctness import SOURCES
from studyapp.queries.question_pages import PageName, build_part_pages, compute_seed, is_shuffled
from studyapp.queries.running import results
from studyapp.queries.running.results import CLOCKS, Row
from studyapp.rules.survey_pages import merge_pages


class Tally:
    """Applies exclusion rules to trials and counts the trials hit, by mode."""

    def __init__(self, data: StudyData) -> None:
        self._data = data
        self.counts: dict[str, dict[str, Any]] = {}

    def mark(self, rows: list[Row]) -> None:
        """Fill ``excluded_by`` of trial rows.

        Trials that are not submitted are left out of rules and counts.
        """
        groups: dict[tuple[int, str], list[Row]] = {}
        for row in rows:
            if row.pop("is_submitted"):
                groups.setdefault((row["version"], row["mode"]), []).append(row)
        for (version, mode), group in groups.items():
            facts = {row["participant_id"]: self._data.facts.get(row["person"], {}) for row in group}
            exclusions = apply_rules(self._data.parsed_rules[version], group, facts)
            for row, names in zip(group, exclusions.names, strict=True):
                row["excluded_by"] = ";".join(names) or None
            self._add(mode, exclusions)

    def _add(self, mode: str, exclusions: Exclusions) -> None:
        counts = _sum_counts(self.counts.get(mode, {}), exclusions.as_counts())
        counts["percent"] = 100 * counts["excluded"] / counts["total_trials"]
        self.counts[mode] = counts


def _sum_counts(counts: Mapping[str, Any], more: Mapping[str, Any]) -> dict[str, Any]:
    """Add nested counts, with sorted keys.

    Sorting hides the order in which participants came.
    """
    total = dict(counts)
    for key, value in more.items():
        total[key] = (
            _sum_counts(total.get(key, {}), value) if isinstance(value, dict) else total.get(key, 0) + value
        )
    return dict(sorted(total.items()))


def build_participant_rows(data: StudyData) -> Iterator[Row]:
    """Yield a row per participant."""
    nothing = dict.fromkeys(PERSON_COLUMNS)
    paid = results.sum_payments(data.study)
    for person in data.participants:
        row = {
            **person,
            **data.facts.get(person["pk"], nothing),
            **paid.get(person["pk"], {"approved": None, "paid": None, "paid_currency": None}),
            "finished_late": _has_finished_late(person),
            "flags": data.flags_of(person),
            "trials_excluded": person["rule_hits"],
        }
        yield {
            **row,
            "excluded_by": ";".join(list_person_hits(data.parsed_rules[row["version"]], row)) or None,
        }


def _has_finished_late(person: Row) -> bool:
    """Return whether a participant finished after the platform's return."""
    returned, completed = person["returned_at"], person["completed_at"]
    return returned is not None and completed is not None and returned <= completed


def build_trial_rows(data: StudyData, tally: Tally) -> Iterator[Row]:
    """Return every assigned trial.

    ``tally`` has counted all of them once this is used up.
    """
    for chunk in data.chunks():
        rows = [row for row in _read_trials(data, chunk) if row["kind"] == "item"]
        yield from mark_trial_rows(data, rows, tally)


def mark_trial_rows(data: StudyData, rows: list[Row], tally: Tally) -> list[Row]:
    """Fill the correctness and the exclusions of rows of trials."""
    for row in rows:
        is_pair = row.get("left_condition") is not None
        row["system_correct"] = None if is_pair else data.correct.get((row["condition_id"], row["item_key"]))
        row["excluded_by"] = None
    tally.mark(rows)
    return rows


def build_check_rows(data: StudyData) -> Iterator[Row]:
    """Return every practice and attention item that was laid out."""
    if not any(content.practice or content.attention for content in data.frozen.values()):
        return
    for chunk in data.chunks():
        for row in _read_trials(data, chunk):
            if row["kind"] != "item":
                yield {**row, "check_kind": row["kind"], "check_passed": row["passed"]}


def _read_trials(data: StudyData, chunk: list[Row]) -> Iterator[Row]:
    """Return all trials of some participants, each with its own condition.

    Practice items are counted apart.
    """
    trials = results.read_trials([person["pk"] for person in chunk])
    columns = data.questions("item_questionnaire")
    for person in chunk:
        for trial in trials.get(person["pk"], ()):
            yield build_trial_row(data, person, trial, columns)


def build_trial_row(data: StudyData, person: Row, trial: Row, columns: tuple[Column, ...]) -> Row:
    """Return one trial with the answer columns of its questionnaire."""
    left, right = trial["condition_name"], trial["other_condition_name"]
    practice = 0 if trial["kind"] == "practice" else len(data.frozen[person["version"]].practice)
    return {
        **_identify_participant(person),
        **_build_task_cells(data, person, trial),
        **_build_page_cells(
            data, person, trial, "item_questionnaire", columns, [*filter(None, (left, right))]
        ),
        "flags": data.flags_of(person),
        "person": person["pk"],
        "condition": left if right is None else None,
        "condition_id": trial["condition_id"],
        "item_id": trial["external_id"],
        "item_key": trial["item_id"],
        "kind": trial["kind"],
        "passed": trial["passed"],
        **_count_openings(trial["articles"]),
        "position": trial["position"] - practice,
        "is_submitted": trial["answers"] is not None,
    }


def _build_task_cells(data: StudyData, person: Row, trial: Row) -> Row:
    """Return the columns of the task; none if no version has one of its own."""
    columns = build_task_columns(data.frozen.values())
    if not columns:
        return {}
    content = data.frozen[person["version"]]
    cells = dict.fromkeys(column.name for column in columns)
    if isinstance(content.task, Predicting):
        return cells | build_prediction_cells(trial, content)
    if isinstance(content.task, Preference):
        return cells | build_preference_cells(trial, content.task)
    if not isinstance(content.task, Advice):
        return cells
    advice = (
        content.advice_of(trial["condition_name"], trial["external_id"]) if trial["condition_name"] else None
    )
    item = Judged(trial["question"], trial["gold_answer"], data.decided)
    is_right = data.correct.get((trial["condition_id"], trial["item_id"]))
    return cells | build_advice_cells(trial, advice, item, is_right=is_right)


def _count_openings(articles: list[Any] | None) -> Row:
    """Return the columns of the openings of articles."""
    return {
        "articles_opened": None if articles is None else len(articles),
        "articles_open_ms": None if articles is None else sum(ms for _name, _at, ms in articles),
        "articles_log": articles,
    }


def build_stage_rows(data: StudyData) -> Iterator[Row]:
    """Yield pages before the items, except the survey, in each one's order."""
    for person, page in _read_stages(data):
        if page["stage"] != "pre_survey":
            yield {
                **_identify_participant(person),
                **_build_page_cells(data, person, page, "stages", data.questions("stages")),
                **{name: page[name] for name in ("stage", "attempt", "passed")},
            }


def build_pre_survey_rows(data: StudyData) -> Iterator[Row]:
    """Yield submitted surveys before the items."""
    columns = data.questions("pre_survey")
    for person, page in _read_stages(data):
        if page["stage"] == "pre_survey" and (page["answers"] is not None or page["earlier"]):
            yield {
                **_identify_participant(person),
                **_build_page_cells(data, person, page, "pre_survey", columns),
            }


def _read_stages(data: StudyData) -> Iterator[tuple[Row, Row]]:
    if not any(has_stages(content) for content in data.frozen.values()):
        return
    yield from _read_rows_per_participant(data, results.read_stages)


def _read_rows_per_participant(
    data: StudyData, read: Callable[[list[int]], dict[int, list[Row]]]
) -> Iterator[tuple[Row, Row]]:
    """Yield each participant with each of the rows that are read about them."""
    for chunk in data.chunks():
        rows = read([person["pk"] for person in chunk])
        for person in chunk:
            for row in rows.get(person["pk"], ()):
                yield person, row


def build_post_survey_rows(data: StudyData) -> Iterator[Row]:
    """Yield submitted post surveys."""
    columns = data.questions("post_survey")
    for person, survey in _read_rows_per_participant(data, results.read_surveys):
        yield {
            **_identify_participant(person),
            **_build_page_cells(data, person, survey, "post_survey", columns),
        }


def build_event_rows(data: StudyData) -> Iterator[Row]:
    """Yield the events of staff, then those of each participant."""
    for event in results.read_staff_events(data.study):
        yield {**event, "participant_id": None}
    for person, event in _read_rows_per_participant(data, results.read_events):
        yield {**event, "participant_id": person["participant_id"]}


def build_item_rows(data: StudyData) -> Iterator[Row]:
    """Yield what each condition shows for each item."""
    for row in results.read_stimuli(data.study):
        content = data.frozen[row["version"]]
        if data.public and row["judged_by"] not in SOURCES:
            row["judged_by"] = ""
        yield {
            **row,
            "condition": row["name"],
            "item_id": row["external_id"],
            "rationale": content.condition(row["name"]).shown[row["external_id"]].rationale,
            **{name: row[name] or None for name in ("judged_by", "settled_how", "settled_note")},
        }


def _identify_participant(person: Row) -> Row:
    return {name: person[name] for name in ("participant_id", "mode", "version", "condition")}


def _build_page_cells(
    data: StudyData,
    person: Row,
    page: Row,
    questionnaire: str,
    columns: tuple[Column, ...],
    shown: Sequence[str] = (),
) -> Row:
    """Return the clock and answer columns of a page, or of a whole part.

    A question that was not answered, not shown, or not asked in this version, is None.
    """
    clocks = {name: page[name] for name in CLOCKS}
    answers, changes = page["answers"] or {}, page["changes"] or {}
    if page["answers"] is None and page.get("earlier"):
        answers, changes, timing = merge_pages(page["earlier"])
        clocks |= asdict(timing)
    row = clocks | dict.fromkeys(column.name for column in columns)
    for question in data.find_asked_questions(person["version"], questionnaire):
        if question.key in answers:
            row |= question.cells(answers[question.key])
        row[f"changes_{question.key}"] = changes.get(question.key)
    for score in data.scores(person["version"], questionnaire):
        row[score.column] = score.value(answers)
    row["server_ms"] = _measure_elapsed_ms(page)
    name = cast("PageName", page.get("stage") or _PAGE_OF[questionnaire])
    return row | _describe_display(data.frozen[person["version"]], person, name, answers, shown)


_PAGE_OF = {"item_questionnaire": "item", "post_survey": "survey"}


def _describe_display(
    content: FrozenStudy, person: Row, page: PageName, answers: Row, shown: Sequence[str]
) -> dict[str, Any]:
    """Return what was declined, and the orders that were drawn.

    Of a part without answers nothing is known to have been shown. A seed that was removed is not made again.
    """
    if not answers:
        return {}
    conditions = list(map(content.condition, shown)) or content.conditions_of(person["group"] or "")
    seed = (
        None if person["anonymised_on"] else compute_seed(content, person["order_seed"], person["public_id"])
    )
    asked = [q for own in build_part_pages(content, page, content.viewer(conditions, seed)) for q in own]
    cells: dict[str, Any] = {}
    for question in select_visible_questions(asked, answers):
        if question.prefer_not_to_say:
            cells[question.declined_key] = question.declined_key in answers
        if question.random_choices and seed is not None:
            cells[f"{question.key}_order"] = ";".join(value for value, _label in question.choices)
    if seed is not None and is_shuffled(content, page):
        cells[ORDER_COLUMN] = ";".join(question.key for question in asked)
    return cells


def _measure_elapsed_ms(page: Row) -> int | None:
    seconds = measure_seconds(page["shown_at"], page["submitted_at"])
    return None if seconds is None else round(1000 * seconds)
