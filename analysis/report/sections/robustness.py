"""Section on other choices: multiverse analysis, and systems left out."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ...study.analysis import Study
from ...study.human_vs_model import Relations
from ...study.leave_one_out import Robustness, Subset, leave_one_out
from ...study.multiverse import AGGREGATIONS, TIME, Multiverse, Stability, multiverse, rule_hits
from ..page import Block, Data, Section, Text
from ..tables import Cell, Column, Table, build_csv_rows, build_field_columns, format_value_cell

LEAST_SYSTEMS = 4  # of which one can be left out


@dataclass(frozen=True)
class Choices:
    """Relations under other choices; None for fewer than two systems."""

    multiverse: Multiverse | None
    left_out: list[Robustness]


def try_choices(study: Study) -> Choices:
    """Compute the multiverse over all trials, and leave each system out."""
    relations = study.retained.relations
    names = [condition.name for condition in study.systems]
    if len(names) < 2 or not relations.scores:
        return Choices(None, [])
    by_name = {grid.condition: grid for grid in study.everything.grids}
    grids = [by_name[name] for name in names]
    rules = [rule.name for rule in study.bundle.rules]
    hits = rule_hits(grids, study.trials, study.exclusions.names, rules)
    measures = [m for m in study.everything.estimates.measures if m.headline or m.key.startswith("time_")]
    return Choices(
        multiverse(grids, hits, rules, measures, relations.scores),
        leave_one_out(relations.systems, relations.measures, relations.scores),
    )


def build_choices_section(study: Study, choices: Choices) -> Section:
    """Show if other choices change the signs of the rank table."""
    title = "Robustness"
    if choices.multiverse is None:
        text = "With fewer than two systems, or no score, there is no relation that a choice could change."
        return Section("choices", title, [Text(text)])
    universes = choices.multiverse
    labels = {score.key: score.label for score in study.retained.relations.scores if score.headline}
    some = "no rule, each rule alone, all but each, and all of them"
    which = "every subset of the exclusion rules" if universes.complete else some
    names = {m.key: m.label for m in study.everything.estimates.measures} | {TIME: "Completion time"}
    blocks: list[Block] = [
        Text(
            f"Each cell counts the universes, {which} with averages over {', '.join(AGGREGATIONS)} (and, for "
            "times, mean, median and geometric mean), in which the ranks relate as in this report. A sign "
            "that few universes share comes from a choice, not from the data."
        ),
        *_build_stability_blocks(universes.stability, labels, names),
        _tabulate_universes(universes),
    ]
    blocks.append(build_left_out_block(study.retained.relations, choices.left_out))
    return Section("choices", title, blocks)


def build_left_out_block(relations: Relations, results: Sequence[Robustness]) -> Block:
    """Show the correlations without each system, if enough are left."""
    labels = {score.key: score.label for score in relations.scores if score.headline}
    shown = [result for result in results if not result.reason and result.score in labels]
    if shown and len(relations.systems) >= LEAST_SYSTEMS:
        return _tabulate_left_out(shown, labels, relations)
    text = (
        "No system is left out in turn: that would leave fewer than three, and any two systems have a "
        "correlation of +1 or −1."
    )
    return Text(text, "note")


def _build_stability_blocks(
    stability: Sequence[Stability], labels: dict[str, str], measure_names: dict[str, str]
) -> list[Block]:
    """Tabulate measures with a sign that some choice changes; count the rest."""
    shown = [pair for pair in stability if pair.score in labels and pair.same_sign is not None]
    changed = dict.fromkeys(pair.measure for pair in shown if pair.same_sign != 1)
    kept = [measure_names[key] for key in dict.fromkeys(pair.measure for pair in shown) if key not in changed]
    table = Table.from_records(
        "multiverse_stability",
        "Share of universes that keep the rank relation",
        stability,
        _STABILITY,
        ["Sign of this report, then the share of universes (%) that have it; “=” is neither + nor −."],
        rows=list(changed),
        heads=[Column("", measure_names.get, "Measure")],
        across=labels,
        keys=lambda stable: (stable.measure, stable.score),
        wide=True,
    )
    file = table.csv_file
    blocks: list[Block] = [table] if changed else [Data(file.name, file.title, file.header, file.rows)]
    if kept:
        blocks.append(Text(f"The same in every universe, with every score: {', '.join(kept)}."))
    return blocks


_STABILITY = [
    *build_field_columns("measure", "score", "universes", "undefined"),
    Column("same_ranking", "plus"),
    Column("reversed", "minus"),
    Column("neither", "blank"),
    Column("reference_sign", "reference.sign", cell=lambda row: _format_stability_cell(row)),
    *build_field_columns("same_sign", "same_direction"),
    Column("pearson_low pearson_high", "pearson"),
]


def _format_stability_cell(stability: Stability | None) -> Cell:
    if stability is None or stability.same_sign is None:
        return Cell("–", "missing")
    sign = {"+": "+", "-": "−", "": "="}[stability.reference.sign or ""]
    return Cell(sign, "sign", f"{100 * stability.same_sign:.0f}")


def _tabulate_universes(universes: Multiverse) -> Data:
    columns = [
        Column("rules", lambda row: ";".join(row.rules)),
        *build_field_columns("aggregation", "summary", "measure", "score", "trials", "sign", "tied"),
        *build_field_columns("pearson", "spearman", "kendall"),
    ]
    return Data("multiverse", "Every universe", *build_csv_rows(columns, universes.universes))


class _LeftOut(NamedTuple):
    """A measure and a score over some of the systems."""

    pair: Robustness
    subset: Subset


def _tabulate_left_out(shown: Sequence[Robustness], labels: dict[str, str], relations: Relations) -> Table:
    headline = {measure.key: measure.label for measure in relations.measures if measure.headline}
    subsets = [
        _LeftOut(pair, subset)
        for pair in shown
        for subset in ((pair.everything,) if pair.everything else ()) + pair.without
    ]
    columns = [
        *build_field_columns("measure", "score", of="pair"),
        *build_field_columns("left_out", "n", "sign", of="subset"),
        Column("pearson", lambda row: row.subset.coefficients["pearson"], cell=_format_left_out_cell),
        Column("spearman", lambda row: row.subset.coefficients["spearman"]),
        Column("kendall", lambda row: row.subset.coefficients["kendall"]),
    ]
    return Table.from_records(
        "left_out",
        "Correlations with each system left out",
        subsets,
        columns,
        ["Pearson's r over all systems; below, its smallest and largest value with one system left out."],
        rows=list(headline),
        heads=[Column("", headline.get, "Measure")],
        across=labels,
        keys=lambda row: (row.pair.measure, row.pair.score),
        wide=True,
    )


def _format_left_out_cell(row: _LeftOut | None) -> Cell:
    if row is None or row.pair.everything is None:
        return Cell("–", "missing")
    return format_value_cell(row.pair.everything.coefficients["pearson"], row.pair.range.get("pearson"))
