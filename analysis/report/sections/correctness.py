"""The section on the correctness of answers: its sources, and both counts."""

from collections.abc import Sequence
from functools import partial

import numpy as np
import pandas as pd

from ...participants.estimates import Estimates, estimate
from ...participants.measures import MEASURES
from ...participants.study_version import Decision, Sources
from ...stats.streams import derive_stream
from ...study.analysis import Study
from ..page import Block, Points, Section, Text
from ..tables import Column, Table
from .participants import format_estimate_cell

# The main measures that depend on the correctness of the system's answer.
COMPARED = ("fraction_correct", "over_estimation", "fp", "fn")


def build_correctness_section(study: Study) -> Section | None:
    """Say where the correctness of answers comes from, and what depends on it.

    Returns None if the bundle does not say.
    """
    version = study.version
    if not version.correctness:
        return None
    titles = study.titles
    blocks: list[Block] = [_tabulate_sources(version.correctness, titles)]
    near = sum(row.near_misses for row in version.correctness)
    if near:
        shown = sum(row.answers for row in version.correctness)
        text = (
            f"{near} of {shown} shown answers resemble the gold answer and count as wrong, because nobody "
            "judged them."
        )
        blocks.append(Text(text, "note"))
    if version.decisions:
        blocks.append(Points([_describe_decision(decision) for decision in version.decisions]))
    return Section("correctness", "Correctness of the answers", [*blocks, *_compare_sources(study)])


def _describe_decision(decision: Decision) -> str:
    # The public bundle has the day alone.
    origin = ", ".join(filter(None, (decision.by, decision.at and decision.at[:10])))
    by = f" ({origin})" if origin else ""
    return f"Launched although the check “{decision.check}” was open{by}: {decision.reason}"


def _tabulate_sources(rows: Sequence[Sources], titles: dict[str, str]) -> Table:
    sources = list(dict.fromkeys(source for row in rows for source in row.sources))
    columns = [
        Column("condition", heading="Condition", cell=lambda row: titles.get(row.condition, row.condition)),
        Column("answers", heading="Answers"),
        Column("correct", heading="Correct"),
        Column("exact_match", heading="Correct by exact match"),
        *(Column((source,), partial(_count_by_source, source), f"By {source}") for source in sources),
        Column("near_misses", heading="Unjudged near-misses"),
    ]
    notes = [
        "“By exact match” counts the answers whose correctness, right or wrong, stands by comparison with "
        "the gold answer alone. A near-miss shares a word with the gold answer without being equal to it."
    ]
    caption = "Shown answers by the source of their correctness"
    return Table.from_columns("correctness", caption, rows, columns, notes)


def _count_by_source(source: str, row: Sources) -> int:
    return row.sources.get(source, 0)


def _compare_sources(study: Study) -> list[Block]:
    """Compare the main measures under both sources if they differ."""
    if study.version.task.kind != "verification":
        return []
    exact = estimate_by_exact_match(study)
    if exact is None:
        alike = study.bundle.exact_match is not None
        return [Text("The correctness of every answer is that of exact match.")] if alike else []
    judged = study.retained.estimates
    rows = [
        (measure, condition)
        for measure in exact.measures
        for condition in study.conditions
        if exact.get(measure.key, condition.name).value is not None
    ]
    columns = [
        Column("measure", lambda row: row[0].key, "Measure", lambda row: row[0].label),
        Column("condition", lambda row: row[1].name, "Condition", lambda row: row[1].title),
        Column(
            "judged",
            lambda row: judged.get(row[0].key, row[1].name).value,
            "As judged",
            lambda row: format_estimate_cell(judged.get(row[0].key, row[1].name)),
        ),
        Column("judged_low judged_high", lambda row: judged.get(row[0].key, row[1].name).interval),
        Column(
            "exact_match",
            lambda row: exact.get(row[0].key, row[1].name).value,
            "By exact match",
            lambda row: format_estimate_cell(exact.get(row[0].key, row[1].name)),
        ),
        Column("exact_match_low exact_match_high", lambda row: exact.get(row[0].key, row[1].name).interval),
    ]
    caption = "Main measures by the source of correctness"
    notes = ["Everything else in this report uses the correctness as judged."]
    return [Table.from_columns("correctness-sources", caption, rows, columns, notes)]


def estimate_by_exact_match(study: Study) -> Estimates | None:
    """Estimate the measures that depend on correctness by exact match alone.

    Returns None if that is unknown, or changes the correctness of no trial.
    """
    matches = study.bundle.exact_match
    if matches is None:
        return None
    trials = study.retained.trials
    keys = pd.MultiIndex.from_frame(trials[["version", "condition", "item_id"]].astype({"version": int}))
    exact = matches.reindex(keys).to_numpy(dtype=float, na_value=np.nan)
    now = trials["system_correct"].to_numpy(dtype=float)
    if not np.any(~np.isnan(exact) & ~np.isnan(now) & (exact != now)):
        return None
    replaced = trials.assign(system_correct=np.where(np.isnan(exact), now, exact))
    measures = [measure for measure in MEASURES if measure.key in COMPARED]
    rng = derive_stream(np.random.default_rng(study.options.seed), "correctness")
    return estimate(study.grids(replaced), measures, rng=rng, resamples=study.options.resamples)
