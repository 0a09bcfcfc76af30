"""Interim estimates of a running study, with the measures of the report.

They are computed over the rows that an export would hold now.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from django.db.models import Count, Max

from analysis.participants.allocation import allocate
from analysis.participants.condition_grids import build_condition_grids, map_item_columns, measure_stream
from analysis.participants.estimates import Estimate, estimate
from analysis.participants.exclusion_rules import CLOCK_COLUMNS, parse_rules
from analysis.participants.measures import Measure, build_scale_measures
from analysis.participants.study_version import ScaleScore, Version
from analysis.participants.tasks import TASKS, find_measure
from analysis.participants.trial_grid import choose_clock
from studyapp.exports import documents, rows
from studyapp.exports.study_data import StudyData, load_study_data
from studyapp.models import Event, Mode, Participant, Study, SurveyResponse, Trial
from studyapp.queries.participants.own_answers import count_decisions
from studyapp.queries.running.results import CHANGING

if TYPE_CHECKING:
    import pandas as pd

SHOWN = ("fraction_correct", "tp", "fp", "tn", "fn", "user_f1", "time_median", "certainty", "helpfulness")
RESAMPLES = 500
SEED = 1  # that of reports: the same data give the same intervals here and there


@dataclass(frozen=True)
class RunningEstimates:
    """Measure by condition, participant level, of one version.

    ``excluded`` of ``trials`` were left out.
    """

    version: int
    trials: int
    excluded: int
    labels: dict[str, str]
    table: list[tuple[Measure, list[Estimate]]]


def compute_running_estimates(study: Study, mode: str = Mode.LIVE) -> RunningEstimates | None:
    """Return the estimates so far; None before the first submitted item.

    They are of the newest version with a submitted item. The study's exclusion rules are applied and
    participants who withdrew are left out, as in the report.
    """
    of_mode = Trial.objects.filter(participant__version__study=study, participant__mode=mode)
    now = of_mode.filter(answers__isnull=False).aggregate(n=Count("pk"), last=Max("submitted_at"))
    if not now["n"]:
        return None
    participants = Participant.objects.filter(version__study=study, mode=mode)
    withdrawn = participants.filter(status=Participant.Status.WITHDRAWN).count()
    acts = Event.objects.filter(study=study, kind__in=CHANGING).count()
    surveys = SurveyResponse.objects.filter(participant__in=participants.values("pk"), answers__isnull=False)
    state = (now["n"], now["last"], withdrawn, acts, count_decisions(study), surveys.count())
    return _compute_estimates(study.pk, mode, state)


@lru_cache(maxsize=16)
def _compute_estimates(study_pk: int, mode: str, state: tuple[object, ...]) -> RunningEstimates | None:
    """Compute the estimates, cached until ``state`` changes.

    It changes with another item, another survey, a withdrawal, an exclusion or a decision about correctness.
    """
    import pandas as pd  # large, and most pages do without it

    data = load_study_data(Study.objects.get(pk=study_pk), public=False)
    gone = {
        row["participant_id"] for row in data.participants if row["status"] == Participant.Status.WITHDRAWN
    }
    answered = pd.DataFrame(
        row
        for row in rows.build_trial_rows(data, rows.Tally(data))
        if row["mode"] == mode and row["submitted_at"] is not None and row["participant_id"] not in gone
    )
    if answered.empty:
        return None
    number = int(answered["version"].max())
    trials = answered[answered["version"] == number].reset_index(drop=True)
    document = next(
        version_document
        for version_document in documents.build_study_version(data)["versions"]
        if version_document["version"] == number
    )
    version = Version.model_validate(document)
    kept = trials[trials["excluded_by"].isna()]
    clock = choose_clock(parse_rules(document["definition"]["rules"]), trials)
    scores = [_rename_early_score(score) for score in version.scale_scores]
    numbers = [*map_item_columns(version).values(), "system_correct", *CLOCK_COLUMNS.values()]
    used = kept.copy()
    used[numbers] = used[numbers].astype(float)
    participants = trials[["participant_id"]].drop_duplicates().assign(condition=None)
    members = allocate(version, participants, trials).membership()
    out = [row["participant_id"] for row in rows.build_participant_rows(data) if row["excluded_by"]]
    left = members[~members["participant_id"].isin(out)]
    grids = build_condition_grids(
        version,
        used,
        left,
        _build_survey_table(data, scores),
        clock=clock,
        items=sorted(trials["item_id"].unique()),
        post_columns={score.column: score.column for score in scores if score.table == "post_survey"},
    )
    measures = [*_list_task_measures(version), *build_scale_measures(scores)]
    result = estimate(grids, measures, rng=measure_stream(SEED), resamples=RESAMPLES)
    names = [condition.name for condition in version.conditions]
    return RunningEstimates(
        number,
        len(trials),
        len(trials) - len(kept),
        {condition.name: condition.title for condition in version.conditions},
        [(measure, [result.get(measure.key, name) for name in names]) for measure in measures],
    )


def _list_task_measures(version: Version) -> list[Measure]:
    """Return the measures that the page shows of a task."""
    if version.task.kind == "verification":
        return [measure for key in SHOWN if (measure := find_measure(key)) is not None]
    task = TASKS[version.task.kind]
    return [measure for measure in (*task.measures, *task.own_measures(version.task)) if measure.headline]


BEFORE = "_before"  # ends the names of scores before the items, which the survey at the end may have too


def _rename_early_score(score: ScaleScore) -> ScaleScore:
    """Return a score before the items as one after them, renamed."""
    if score.table != "pre_survey":
        return score
    title = f"{score.title}, before the items"
    return score.model_copy(update={"table": "post_survey", "column": score.column + BEFORE, "title": title})


def _build_survey_table(data: StudyData, scores: list[ScaleScore]) -> pd.DataFrame | None:
    """Return the scores of both surveys by participant; None without any."""
    import pandas as pd

    names = [score.column for score in scores if score.table == "post_survey"]
    people: dict[str, dict[str, float | None]] = {}
    for ending, survey in (
        ("", rows.build_post_survey_rows(data)),
        (BEFORE, rows.build_pre_survey_rows(data)),
    ):
        for row in survey:
            own = people.setdefault(row["participant_id"], dict.fromkeys(names))
            own |= {name: row[column] for column in row if (name := column + ending) in own}
    if not names or not people:
        return None
    table = [{"participant_id": who, **values} for who, values in people.items()]
    return pd.DataFrame(table).astype(dict.fromkeys(names, float))
