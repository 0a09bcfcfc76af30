"""The tables of the pages of data and systems: columns and how they sort."""

from collections.abc import Collection, Sequence
from typing import Any

from django.http import QueryDict
from django.utils.translation import gettext_lazy as _

from foundation.pages.tables import Column, Table
from predictions.queries.pages import RunRow
from predictions.views.score_columns import COLUMNS, score_table

QUESTIONS = Table(
    (
        Column("text", _("Question")),
        Column("answer", _("Gold answer")),
        Column("type", _("Type")),
        Column("id", _("ID"), ("external_id",)),
    )
)


def _system(row: RunRow) -> str:
    return row.run.system.name.casefold()


def _dataset(row: RunRow) -> str:
    return row.run.dataset.name.casefold()


RUNS = Table(
    (
        Column("system", _("System"), _system),
        Column("dataset", _("Dataset"), _dataset),
        Column("revision", _("Revision"), lambda row: row.run.revision),
        Column("kind", _("Kind"), lambda row: (row.run.source, row.run.kind)),
        Column("state", _("State"), lambda row: str(row.state.label)),
        Column("predictions", _("Predictions"), lambda row: row.counts.predictions, is_number=True),
        Column("failures", _("Failures"), lambda row: row.counts.failures, is_number=True),
        Column("started", _("Started"), lambda row: row.run.created_at),
    ),
    "-started",
    parameter="runs",
)


def _score(index: int) -> Any:
    def value(row: tuple[Any, Sequence[Any]]) -> float | None:
        return row[1][index].percent

    return value


SCORES = Table(
    (
        Column("system", _("System"), lambda row: row[0].system.name.casefold()),
        Column("dataset", _("Dataset"), lambda row: row[0].dataset.name.casefold()),
        *(
            Column(name, label, _score(index), is_number=True)
            for index, (name, label) in enumerate(COLUMNS.items())
        ),
    ),
    parameter="scores",
)
SYSTEMS = Table(
    (
        Column("system", _("System"), lambda row: row[0].name.casefold()),
        Column("kind", _("Kind"), lambda row: row[0].kind),
        Column("revision", _("Revision")),
        Column("state", _("State"), lambda row: not row[0].loaded),
        Column("server", _("Model server"), lambda row: row[1]),
    ),
    "system",
    parameter="systems",
)


def runs_and_scores(
    rows: Sequence[RunRow], query: QueryDict, *, without: Collection[str] = ()
) -> dict[str, Any]:
    """Return the rows and the heads of the tables of runs and of scores."""
    runs, scores = RUNS.of(query, without=without), SCORES.of(query, without=without)
    return {
        "rows": runs.rows(rows),
        "runs_table": runs,
        "scores": scores.rows(score_table([row.run for row in rows])),
        "scores_table": scores,
    }
