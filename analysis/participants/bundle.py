"""Load and check the export bundle of a study, as typed tables.

docs/reference/bundle.md documents the format. Needed are trials, participants,
study_version.json and rules.json; what a bundle from elsewhere may lack is
None here.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import pandas as pd
from pydantic import BaseModel

from ..io.errors import AnalysisError, InputError
from ..io.table_columns import Column
from ..io.tabular_files import Table, find_table, read_table
from ..io.whole_files import Model, hash_file, parse_model, read_json
from ..scores.erasure import DIFFERENCES
from ..scores.per_question import TABLE as QUESTION_SCORES
from ..scores.per_question import read_question_scores
from .canonical_order import sort_canonically
from .exclusion_rules import CLOCK_COLUMNS, DUPLICATE_COLUMNS, PERSON_COLUMNS, Answered, Rule, parse_rules
from .study_version import Study, Version
from .tasks import TASKS
from .tasks.preference import SIDES

MODES = ("live", "pilot", "bot")
STATUSES = ("active", "completed", "ended", "withdrawn")

# Names of the files that an analysis reads, without their endings.
_READ = frozenset(
    {
        *("study_version", "rules", "flow", "scores"),
        *("trials", "participants", "pre_survey", "post_survey", "codebook", QUESTION_SCORES),
    }
)

_WHO = (
    Column("participant_id", "text", required=True, filled=True),
    Column("mode", "text", required=True, filled=True, choices=MODES),
    Column("version", "integer", required=True, filled=True, low=1),
    Column("condition", "text", required=True, filled=True),
)
_CLOCKS = tuple(Column(name, "integer", low=0) for name in CLOCK_COLUMNS.values())
_TRIALS = (
    *_WHO[:3],
    Column("condition", "text", required=True),  # empty if a trial shows two
    Column("item_id", "text", required=True, filled=True),
    Column("position", "integer", low=1),
    Column("submitted_at", "text"),
    *_CLOCKS,
    Column("system_correct", "boolean"),
    Column("flags", "text"),
    Column("excluded_by", "text"),
)
_ITEMS = (*_WHO[2:], Column("item_id", "text", required=True, filled=True), Column("exact_match", "boolean"))
# Empty if a participant sees several conditions.
_PERSON = (*_WHO[:3], Column("condition", "text", required=True))
_PARTICIPANTS = (
    *_PERSON,
    Column("group", "text"),
    Column("status", "text", required=True, filled=True, choices=STATUSES),
    Column("language", "text"),
    Column("device", "text"),
    Column("approved", "boolean"),
    Column("paid", "number", low=0),
    Column("paid_currency", "text"),
    Column("link_label", "text"),
    Column("behaviour", "text"),
    Column("started_at", "text"),
    Column("items_submitted", "integer", low=0),
    *(Column(name, "integer", low=0) for name in PERSON_COLUMNS if name not in DUPLICATE_COLUMNS.values()),
    *(Column(name, "boolean") for name in DUPLICATE_COLUMNS.values()),
    Column("excluded_by", "text"),
)


class CodebookColumn(BaseModel):
    """A column of a table, as codebook.json describes it."""

    name: str
    type: str
    meaning: str = ""
    unit: str | None = None
    values: str | None = None

    @property
    def is_number(self) -> bool:
        """True for numbers that are not points of a scale."""
        return self.type in ("integer", "number") and not self.values

    def label(self, value: str) -> str:
        """Return the label of a value, or the value without one."""
        labels = dict(pair.split(" = ", 1) for pair in (self.values or "").split("; ") if " = " in pair)
        return labels.get(value, value)


class _CodebookTable(BaseModel):
    columns: list[CodebookColumn]


class _Codebook(BaseModel):
    tables: dict[str, _CodebookTable]


class ConditionFlow(BaseModel):
    """Counts of a condition's participants by the stage they reached."""

    assigned: int = 0
    started: int = 0
    dropped_at: dict[str, int] = {}
    completed: int = 0
    withdrawn: int = 0
    active: int = 0


class ModeFlow(BaseModel):
    """Participant flow of one mode."""

    consented: int | None = None
    not_assigned: dict[str, int] = {}
    conditions: dict[str, ConditionFlow]


class _Flow(BaseModel):
    modes: dict[str, ModeFlow]


class SystemScores(BaseModel):
    """Model scores of one system, as fractions; a null score has a reason."""

    revision: str | None = None
    n: int | None = None
    source: str | None = None
    scores: dict[str, float | None]
    reasons: dict[str, str] = {}


class Scores(BaseModel):
    """scores.json."""

    schema_version: Literal[1]
    dataset: str | None = None
    systems: dict[str, SystemScores]


class _Rules(BaseModel):
    rules: list[Any]


@dataclass(frozen=True)
class Bundle:
    """Checked bundle.

    In tables, booleans and numbers are floats, NaN where missing. Rows are in canonical order, which is the
    same in the internal and the public variant.

    Attributes:
        path: Folder of the bundle.
        study: The study with its frozen versions.
        trials: Submitted trials of all modes and versions, one per row.
        assigned: Number of trials that were assigned, submitted or not.
        participants: One row per participant.
        post_survey: Answers to the post survey, one row per participant; None without one.
        pre_survey: Answers to `pre_questions` as text, one row per participant; None without a pre-survey.
        pre_questions: Questions before the study.
        rules: Exclusion rules.
        flow: Recorded counts of participants by mode.
        scores: Model scores; None if the folder has none.
        question_scores: Each question's part in the model scores; None if the folder has none.
        exact_match: True if an answer equals gold, by version, condition and item; None if the bundle does
            not say.
        hashes: Name of each file that is read to its SHA-256.
    """

    path: Path
    study: Study
    trials: pd.DataFrame
    assigned: int
    participants: pd.DataFrame
    post_survey: pd.DataFrame | None
    pre_survey: pd.DataFrame | None
    pre_questions: list[CodebookColumn]
    rules: list[Rule]
    flow: dict[str, ModeFlow]
    scores: Scores | None
    question_scores: pd.DataFrame | None
    exact_match: pd.Series | None
    hashes: dict[str, str]

    def version(self, number: int) -> Version:
        """Return the frozen definition with the number.

        Args:
            number: Number of a version of the study.

        Returns:
            The definition of the version.

        Raises:
            AnalysisError: The study has no version of this number.
        """
        for version in self.study.versions:
            if version.version == number:
                return version
        raise AnalysisError(f"the study has no version {number}")


def require_folder(path: Path) -> None:
    """Raise InputError for a bundle whose folder does not exist."""
    if not path.is_dir():
        raise InputError(path, "is not a folder")


def load_bundle(path: Path) -> Bundle:
    """Read and check a bundle's folder.

    Args:
        path: Folder of the bundle.

    Returns:
        The bundle, its tables in canonical order.

    Raises:
        InputError: A file is missing or malformed; names file, line and column of the first problem.
    """
    require_folder(path)
    study = _read(path / "study_version.json", Study)
    rules = _load_rules(path / "rules.json", study)
    questions = _build_question_columns(study, "item_questionnaire")
    trials = read_table(
        _find_required_table(path, "trials"), (*_TRIALS, *_list_task_columns(study), *questions)
    )
    participants = read_table(_find_required_table(path, "participants"), _PARTICIPANTS)
    post_path = find_table(path, "post_survey")
    post = (
        read_table(post_path, (*_PERSON, *_build_question_columns(study, "post_survey")))
        if post_path
        else None
    )
    _check_trials(trials, participants, study)
    _check_conditions(participants, study)
    if post is not None:
        _check_conditions(post, study)
        post.check_unique(["participant_id"])
    pre_questions = _read_pre_questions(path)
    flow_path, scores_path = path / "flow.json", path / "scores.json"
    answers = [question.key for version in study.versions for question in version.item_questionnaire]
    rows, people, surveys = sort_canonically(trials.frame, participants.frame, post.frame if post else None)
    submitted = rows["submitted_at"].notna() | rows[answers].notna().any(axis=1)
    return Bundle(
        path=path,
        study=study,
        trials=rows[submitted].reset_index(drop=True),
        assigned=len(rows),
        participants=people,
        post_survey=surveys,
        pre_survey=_read_pre_survey(path, pre_questions),
        pre_questions=pre_questions,
        rules=rules,
        flow=_read(flow_path, _Flow).modes if flow_path.exists() else {},
        scores=load_scores(scores_path) if scores_path.exists() else None,
        question_scores=_load_question_scores(path),
        exact_match=_read_exact_match(path),
        hashes={file.name: hash_file(file) for file in sorted(path.iterdir()) if file.stem in _READ},
    )


def load_scores(path: Path) -> Scores:
    """Read a scores file, from a bundle or made elsewhere.

    Args:
        path: JSON file in the form of a bundle's scores.json.

    Returns:
        The scores as fractions, by system.

    Raises:
        InputError: The file is missing or malformed, or a score is out of range; names file and field of the
            first problem.
    """
    scores = _read(path, Scores)
    for system, entry in scores.systems.items():
        for key, value in entry.scores.items():
            field = f"systems.{system}.scores.{key}"
            if value is not None and not (-1 if key in DIFFERENCES else 0) <= value <= 1:
                raise InputError(path, f"{value:g} is not a fraction from 0 to 1", field=field)
    return scores


def _read(path: Path, model: type[Model]) -> Model:
    return parse_model(model, read_json(path), path)


def _load_rules(path: Path, study: Study) -> list[Rule]:
    try:
        rules = parse_rules(_read(path, _Rules).rules)
    except InputError:
        raise
    except AnalysisError as error:
        raise InputError(path, str(error)) from None
    questions = {question.key for version in study.versions for question in version.item_questionnaire}
    for rule in rules:
        if isinstance(rule, Answered) and rule.question not in questions:
            problem = f"rule {rule.name!r} asks for the question {rule.question!r}, which the study lacks"
            raise InputError(path, problem)
    return rules


def _read_pre_questions(path: Path) -> list[CodebookColumn]:
    """Return the questions before the items that are not answered by text."""
    codebook = path / "codebook.json"
    table = _read(codebook, _Codebook).tables.get("pre_survey") if codebook.exists() else None
    clocks = {*CLOCK_COLUMNS.values(), "shown_at", "submitted_at", "client_hidden_ms", "hidden_count"}
    standard = clocks | {"first_interaction_ms"} | {column.name for column in _PERSON}
    return [
        column
        for column in (table.columns if table else [])
        if column.name not in standard
        and not column.name.startswith("changes_")
        and (column.type != "string" or column.values)
    ]


def _read_pre_survey(path: Path, questions: list[CodebookColumn]) -> pd.DataFrame | None:
    file = find_table(path, "pre_survey")
    if file is None or not questions:
        return None
    columns = (_WHO[0], *(Column(question.name, "text") for question in questions))
    table = read_table(file, columns)
    table.check_unique(["participant_id"])
    return table.frame


def _load_question_scores(path: Path) -> pd.DataFrame | None:
    """Read the scores per question; None without a row: no system was scored."""
    file = find_table(path, QUESTION_SCORES)
    table = read_question_scores(file) if file else None
    return None if table is None or table.empty else table


def _read_exact_match(path: Path) -> pd.Series | None:
    """Read whether shown answers equal gold; None without any."""
    file = find_table(path, "items")
    if file is None:
        return None
    keys = ["version", "condition", "item_id"]
    rows = read_table(file, _ITEMS).frame.dropna(subset=["exact_match"])
    return None if rows.empty else rows.drop_duplicates(keys).set_index(keys)["exact_match"].astype(bool)


def _find_required_table(path: Path, name: str) -> Path:
    file = find_table(path, name)
    if file is None:
        raise InputError(path, f"holds no {name}.csv (nor .parquet or .jsonl)")
    return file


def _list_task_columns(study: Study) -> list[Column]:
    """Return the columns of trials that the tasks of the versions have."""
    columns: dict[Column, None] = {}
    for version in study.versions:
        task = TASKS[version.task.kind]
        columns |= dict.fromkeys((*task.columns, *task.own_columns(version.task)))
    return list(columns)


def _build_question_columns(study: Study, part: str) -> list[Column]:
    """Build the columns of all versions' questions.

    One key must mean one scale throughout.
    """
    columns: dict[str, Column] = {}
    taken = {column.name for column in (*_TRIALS, *_list_task_columns(study))}
    for version in study.versions:
        for question in getattr(version, part):
            if question.key in taken:
                raise AnalysisError(f"study_version.json: question {question.key!r} is named like a column")
            if columns.setdefault(question.key, question.column) != question.column:
                raise AnalysisError(f"study_version.json: question {question.key!r} has two scales")
        table = "trials" if part == "item_questionnaire" else part
        for column in (c for score in version.scale_scores if score.table == table for c in score.columns):
            columns.setdefault(column.name, column)
    return list(columns.values())


def _check_trials(trials: Table, participants: Table, study: Study) -> None:
    pairs = [version.version for version in study.versions if TASKS[version.task.kind].pairs]
    is_pair = trials.frame["version"].isin(pairs)
    sides = [f"{side}_condition" for side in SIDES] if pairs else []
    for column in ("condition", *sides):
        _check_conditions(trials, study, column)
        for row in _list_true_rows(trials.frame[column].isna() & (is_pair if column in sides else ~is_pair)):
            raise trials.fault(row, column, "is empty")
    if pairs:
        for row in _list_true_rows(is_pair & (trials.frame[sides[0]] == trials.frame[sides[1]])):
            raise trials.fault(row, sides[1], "the condition is on both sides")
    trials.check_unique(["participant_id", "item_id"])
    participants.check_unique(["participant_id"])
    conditions = dict(zip(participants.frame["participant_id"], participants.frame["condition"], strict=True))
    of_participant = trials.frame["participant_id"].map(conditions)
    unknown = ~trials.frame["participant_id"].isin(conditions.keys())
    for row in _list_true_rows(unknown):
        who = trials.frame["participant_id"].iloc[row]
        raise trials.fault(row, "participant_id", f"{who!r} is not in {participants.path.name}")
    # A participant of a within-subject or mixed design has no condition of their own, but each trial has.
    for row in _list_true_rows(
        ~is_pair & of_participant.notna() & (of_participant != trials.frame["condition"])
    ):
        problem = f"{participants.path.name} has this participant in {of_participant.iloc[row]!r}"
        raise trials.fault(row, "condition", problem)


def _check_conditions(table: Table, study: Study, column: str = "condition") -> None:
    """Check that every row names a version and one of its conditions."""
    names_by_version = {
        version.version: {condition.name for condition in version.conditions} for version in study.versions
    }
    versions, conditions = table.frame["version"].astype(int), table.frame[column]
    for row in _list_true_rows(~versions.isin(names_by_version.keys())):
        raise table.fault(row, "version", f"study_version.json has no version {versions.iloc[row]}")
    for version, names in names_by_version.items():
        for row in _list_true_rows((versions == version) & conditions.notna() & ~conditions.isin(names)):
            problem = f"version {version} has no condition {conditions.iloc[row]!r}"
            raise table.fault(row, column, problem)


def _list_true_rows(flags: pd.Series) -> list[int]:
    """Return the positions of the true values."""
    return [int(position) for position in flags.to_numpy().nonzero()[0]]
