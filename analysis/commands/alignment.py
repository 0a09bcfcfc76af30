"""The command ``alignment``: tables and a figure of alignment scores.

Tables after 2 to 6 of Ray Choudhury et al. 2022.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas
from matplotlib.lines import Line2D

from ..counterfactuals.alignment import Alignment, Group, Record, Verdict, alignments, judge, read_records
from ..io.command_line import always_json
from ..io.spreadsheet import format_csv
from ..io.whole_files import format_json_lines, hash_file, write_text
from ..participants.condition_styles import COLOURS, GREY, MARKERS
from ..report.page import Figure, Page, Section, Text, write_page
from ..report.plots.intervals import STYLE, render_figure
from ..report.tables import (
    Cell,
    Column,
    Table,
    build_field_columns,
    format_interval,
    format_number,
    format_p,
    tabulate_inputs,
)
from ..stats.arrays import Array
from ..study.comparisons import holm
from .options import Count, print_json

MARK = "*"
SIGN_FLIPS = 10_000
Answer = tuple[str, str, str, str, str]  # dataset, system, step, context, distribution
Marks = Mapping[Answer, float]


@always_json
def print_alignment(
    records: Path,
    /,
    *,
    out: Path | None = None,
    near_synonyms: bool = False,
    draws: Count = 100,
    seed: Count = 1,
) -> None:
    """Test whether systems answer for the expected reasons.

    Args:
        records: Counterfactuals with saliency, one JSON record a line.
        out: Folder for a page, instances.jsonl and systems.csv.
        near_synonyms: Count swaps that hardly change the meaning, too.
        draws: Random partitions of each instance.
        seed: Seed of the partitions and tests.
    """
    everything = read_records(records)
    instances = [instance for instance in everything if near_synonyms or not instance.is_doubtful]
    notes = []
    if left := len(everything) - len(instances):
        notes.append(f"records of swaps that hardly change the meaning, left out: {left} (--near-synonyms)")
    rng = np.random.default_rng(seed)
    verdicts = list(judge(instances, rng=rng, draws=draws))
    results = alignments(verdicts)
    if out is not None:
        write_page(build_page(instances, results, rng=rng, sources={records.name: hash_file(records)}), out)
        write_text(out / "instances.jsonl", format_instances(verdicts))
        write_text(out / "systems.csv", format_systems(results))
    print_json([flatten_alignment(alignment) for alignment in results], notes)


def flatten_alignment(alignment: Alignment) -> dict[str, Any]:
    """Return an alignment as plain values, the names of its group first."""
    values = asdict(alignment)
    return {**values.pop("group"), **values, "above_control": alignment.above_control}


def format_instances(verdicts: Iterable[Verdict]) -> str:
    """Format the verdicts as JSON lines."""
    rows = map(asdict, verdicts)
    return format_json_lines({"id": row.pop("id"), **row.pop("group"), **row} for row in rows)


def format_systems(results: Sequence[Alignment]) -> str:
    """Format the scores as the CSV table that `correlate --model` takes."""
    scores = {
        (
            alignment.group.system,
            " ".join(filter(None, ("alignment", *_list_kind_fields(alignment.group)))),
        ): alignment.score
        for alignment in results
    }
    names, columns = (list(dict.fromkeys(key[position] for key in scores)) for position in (0, 1))
    rows = [[name, *(scores.get((name, column)) for column in columns)] for name in names]
    return format_csv(("system", *columns), rows)


def _list_kind_fields(group: Group) -> tuple[str, ...]:
    return group.dataset, group.step, group.context, group.distribution, group.method


def build_page(
    records: Sequence[Record],
    results: Sequence[Alignment],
    *,
    rng: np.random.Generator,
    sources: Mapping[str, str],
) -> Page:
    """Build the page with every table that the records allow.

    Args:
        records: Instances with the answers of systems.
        results: Alignment of each group.
        rng: Draws the signs of the permutation tests.
        sources: SHA-256 by file name.
    """
    answers = _group_answers(records)
    drops = compute_drop_p_values(answers, rng)
    blocks = [table for table in (tabulate_answers(answers), tabulate_drops(answers, drops)) if table]
    sections = [Section("answers", "Answers", blocks)] if blocks else []
    if results:
        figure = [draw_alignment_figure(results)]
        notes = [Text(_READING, "note")]
        tables = [tabulate_by_method(results), tabulate_alignment(results)]
        sections.append(Section("alignment", "Alignment", [*tables, *figure, *notes]))
    context = tabulate_generalisation(answers, drops)
    if context:
        sections.append(Section("generalisation", "Generalisation", [context]))
    sections.append(Section("reproduction", "To reproduce this", [tabulate_inputs(sources)]))
    facts = {
        "Records": str(len(records)),
        "Systems": ", ".join(dict.fromkeys(record.system for record in records)),
    }
    return Page("Right for the right reasons", "", facts, sections)


_READING = (
    "Aligned: original and counterfactual answered exactly, and the positive tokens' mean saliency is "
    "significantly higher (one-tailed t test, p < .05). The score is the share of all instances, as it is "
    "defined. Shares among those answered twice are beside it: only they can exceed a system's accuracy on "
    "the counterfactuals, as published scores do. * marks such a share whose interval lies above the control."
)


def tabulate_answers(answers: Mapping[Answer, Array]) -> Table | None:
    """Tabulate F1 and exact match on the original questions; None without F1."""
    rows = [(key, values) for key, values in answers.items() if key[4] == "in"]
    columns = [
        *_GROUP_COLUMNS,
        Column("n", lambda row: len(row[1]), "n"),
        _build_percent_column("f1", "F1", lambda row: row[1][:, 0].mean()),
        _build_percent_column("exact_match", "Exact match", lambda row: row[1][:, 2].mean()),
    ]
    caption = "Answers to the original questions, in percent"
    return Table.from_columns("answers", caption, rows, columns) if rows else None


def tabulate_drops(answers: Mapping[Answer, Array], drops: Marks) -> Table | None:
    """Tabulate F1 on original and counterfactual questions; None without F1."""
    rows = [(key, values) for key, values in answers.items() if key[4] == "in"]
    columns = [
        *_GROUP_COLUMNS,
        Column("n", lambda row: len(row[1]), "n"),
        _build_percent_column("original", "Original", lambda row: row[1][:, 0].mean()),
        Column(
            "counterfactual",
            lambda row: row[1][:, 1].mean(),
            "Counterfactual",
            lambda row: _format_marked_share(row[1][:, 1].mean(), drops[row[0]]),
        ),
        Column("p_holm", lambda row: drops[row[0]], "p (Holm)", lambda row: format_p(drops[row[0]])),
    ]
    caption = "F1 on original and counterfactual questions, in percent"
    return Table.from_columns("counterfactuals", caption, rows, columns, [_TEST]) if rows else None


_GROUP_COLUMNS = [
    Column(
        "dataset system step context",
        lambda row: row[0][:4],
        "System",
        lambda row: _format_answer_name(row[0]),
    )
]


def _build_percent_column(key: str, heading: str, share: Callable[[Any], float]) -> Column:
    return Column(key, share, heading, lambda row: _format_percent(share(row)))


_TEST = (
    "* significant drop: paired sign-flip test of the mean difference, one-tailed, Holm over all rows and "
    "both kinds of counterfactuals, p < .05."
)


class _Distributions(NamedTuple):
    """Mean F1 of a group with words outside the training distribution."""

    key: Answer
    near: Answer
    n_out: int
    original: float
    within: float | None
    outside: float


def tabulate_generalisation(answers: Mapping[Answer, Array], drops: Marks) -> Table | None:
    """Tabulate F1 on words in and out of the training distribution.

    One row per context (after table 5); None without both distributions.
    """
    keys = [key for key in answers if key[4] == "out"]
    if not keys:
        return None
    rows = []
    for key in keys:
        near: Answer = (*key[:4], "in")
        original = answers.get(near, answers[key])[:, 0].mean()
        within = answers[near][:, 1].mean() if near in answers else None
        rows.append(_Distributions(key, near, len(answers[key]), original, within, answers[key][:, 1].mean()))
    columns = [
        *_GROUP_COLUMNS,
        Column("n_out", heading="n outside"),
        _build_percent_column("original", "Original", lambda row: row.original),
        Column("within", "", "Within", lambda row: _format_marked_share(row.within, drops.get(row.near))),
        Column("outside", "", "Outside", lambda row: _format_marked_share(row.outside, drops[row.key])),
    ]
    caption = "F1 on counterfactuals within and outside the words of training, in percent"
    return Table.from_columns("generalisation", caption, rows, columns, [_TEST])


def tabulate_by_method(results: Sequence[Alignment]) -> Table:
    """Tabulate systems by reasoning step and method (table 4)."""
    names = _select_varying_names(results, ("system", "dataset", "context"))

    def keys(alignment: Alignment) -> tuple[str, tuple[str, str]]:
        group = alignment.group
        return _format_title(alignment, names), (group.step, group.method)

    columns = [
        *build_field_columns("dataset", "system", "step", "method", "context", "distribution", of="group"),
        *build_field_columns("n", "score", "answered", "among_answered"),
        Column("", cell=_format_method_cell),
    ]
    across = {
        key: " ".join(_drop_empty_names(key)) or "all"
        for key in (keys(alignment)[1] for alignment in results)
    }
    return Table.from_records(
        "alignment_by_method",
        "Alignment score by step and method, in percent; below it the share among instances answered twice",
        results,
        columns,
        rows=list(dict.fromkeys(keys(alignment)[0] for alignment in results)),
        heads=[Column("", heading="System", cell=str)],
        across=across,
        keys=keys,
    )


def _format_method_cell(alignment: Alignment | None) -> Cell:
    if alignment is None:
        return Cell("")
    return Cell(
        _format_percent(alignment.score),
        detail=f"{_format_answered_cell(alignment).text} of {alignment.answered}",
    )


def tabulate_alignment(results: Sequence[Alignment]) -> Table:
    """Tabulate the alignment scores of every system and method (table 4)."""
    columns = [
        Column("", heading="System", cell=_format_title),
        *build_field_columns("dataset", "system", "step", "method", "context", "distribution", of="group"),
        Column("n", heading="n"),
        *build_field_columns("answered", "higher", "aligned", "untested"),
        Column("score", "", "Score", _format_score_cell),
        Column("interval"),
        Column("", "answered", "Answered twice"),
        Column("among_answered", heading="Aligned among them", cell=_format_answered_cell),
        Column("among_answered_interval"),
        Column("control", "", "Random partition", lambda row: _format_percent(row.control)),
        Column("above_control"),
    ]
    caption = "Alignment score, in percent, with 95 % intervals"
    return Table.from_columns("alignment", caption, results, columns)


def _format_score_cell(alignment: Alignment) -> Cell:
    return Cell(_format_percent(alignment.score), detail=format_interval(alignment.interval, 1, 100))


def _format_answered_cell(alignment: Alignment) -> Cell:
    mark = MARK if alignment.above_control else ""
    bounds = format_interval(alignment.among_answered_interval, 1, 100)
    return Cell(_format_percent(alignment.among_answered) + mark, detail=bounds)


def draw_alignment_figure(results: Sequence[Alignment]) -> Figure:
    """Draw alignment scores with intervals; the control is a grey line.

    Each setting, such as a reasoning step, has a panel of systems, and methods
    stand side by side.
    """
    names = _select_varying_names(results, ("step", "dataset", "context"))
    panels: dict[str, list[Alignment]] = {}
    for alignment in results:
        panels.setdefault(_format_title(alignment, names), []).append(alignment)
    methods = list(dict.fromkeys(alignment.group.method for alignment in results))
    rows = [len({alignment.group.system for alignment in panel}) for panel in panels.values()]
    heights = [0.3 + count * (0.14 + 0.16 * len(methods)) for count in rows]
    with mpl.rc_context(STYLE):
        canvas = Canvas(figsize=(7.4, 1.1 + sum(heights)), layout="constrained")
        grid = canvas.subplots(len(panels), sharex=True, squeeze=False, height_ratios=heights)
        for axes, (title, panel) in zip(grid[:, 0], panels.items(), strict=True):
            _draw_panel(axes, title, panel, methods)
        grid[-1, 0].set_xlim(0, 100)
        grid[-1, 0].set_xlabel("Alignment score (%); grey stroke: random partition")
        if any(methods):
            canvas.legend(handles=_build_legend_keys(methods), loc="outside upper left", ncols=len(methods))
    spoken = "; ".join(
        f"{_format_title(alignment)}: {_format_percent(alignment.score)} % of {alignment.n} "
        f"({format_interval(alignment.interval, 1, 100)})"
        for alignment in results
    )
    return render_figure(canvas, "alignment", "Alignment scores with 95 % intervals", f"Alignment: {spoken}.")


def _draw_panel(axes: Axes, title: str, panel: Sequence[Alignment], methods: Sequence[str]) -> None:
    """Draw the scores of systems, one line for each method."""
    systems = list(dict.fromkeys(alignment.group.system for alignment in panel))
    for alignment in panel:
        turn = methods.index(alignment.group.method)
        colour, marker = COLOURS[turn % len(COLOURS)], MARKERS[turn % len(MARKERS)]
        at = systems.index(alignment.group.system) + (turn - (len(methods) - 1) / 2) * 0.7 / len(methods)
        low, high = alignment.interval
        axes.hlines(at, 100 * low, 100 * high, color=colour, linewidth=1.8)
        axes.plot(100 * alignment.score, at, marker, color=colour)
        if alignment.control is not None:
            axes.plot(100 * alignment.control, at, "|", color=GREY, markersize=9)
    axes.set_title(title, loc="left", fontsize="medium")
    axes.set_yticks(range(len(systems)), [system or "all" for system in systems])
    axes.set_ylim(len(systems) - 0.5, -0.5)


def _build_legend_keys(methods: Sequence[str]) -> list[Line2D]:
    return [
        Line2D([], [], color=COLOURS[n % len(COLOURS)], marker=MARKERS[n % len(MARKERS)], label=method)
        for n, method in enumerate(methods)
    ]


def compute_drop_p_values(answers: Mapping[Answer, Array], rng: np.random.Generator) -> dict[Answer, float]:
    """Test if the mean F1 on counterfactuals is lower than on originals.

    Returns:
        Holm-adjusted p of each group.
    """
    raw = [_sign_flip_p(values[:, 0] - values[:, 1], rng) for values in answers.values()]
    return {key: p for key, p in zip(answers, holm(raw), strict=True) if p is not None}


def _sign_flip_p(drops: Array, rng: np.random.Generator) -> float:
    """Compute the one-tailed p of a mean difference under random signs."""
    counted = drops[drops != 0]
    signs = rng.choice((-1.0, 1.0), (SIGN_FLIPS, len(counted)))
    return float(((signs @ counted >= counted.sum() - 1e-9).sum() + 1) / (SIGN_FLIPS + 1))


def _group_answers(records: Iterable[Record]) -> dict[Answer, Array]:
    """Return F1 on original and counterfactual, and original exactness.

    Returns:
        Instances × 3 for each group; an instance counts once per group.
    """
    groups: dict[Answer, dict[str, tuple[float, float, float]]] = {}
    for record in records:
        if record.original_f1 is None or record.counterfactual_f1 is None:
            continue
        key = (record.dataset, record.system, record.step, record.context, record.distribution)
        values = record.original_f1, record.counterfactual_f1, float(record.original_correct)
        groups.setdefault(key, {})[record.id] = values
    return {key: np.array(list(rows.values())) for key, rows in groups.items()}


def _format_answer_name(key: Answer) -> str:
    return ", ".join(_drop_empty_names((key[1], key[2], key[0], key[3]))) or "all"


def _format_title(
    alignment: Alignment, names: Sequence[str] = ("system", "step", "method", "dataset", "context")
) -> str:
    group = alignment.group
    outside = "outside training words" if group.distribution == "out" else ""
    return ", ".join(_drop_empty_names((*(getattr(group, name) for name in names), outside))) or "all"


def _select_varying_names(results: Sequence[Alignment], names: Sequence[str]) -> list[str]:
    """Return the names that tell the groups apart, and the first one."""
    return [
        name
        for name in names
        if name == names[0] or len({getattr(alignment.group, name) for alignment in results}) > 1
    ]


def _drop_empty_names(names: Iterable[str]) -> Iterator[str]:
    return (name for name in names if name)


def _format_percent(value: float | None) -> str:
    return format_number(None if value is None else 100 * value, 1)


def _format_marked_share(share: float | None, p: float | None) -> str:
    return _format_percent(share) + (MARK if p is not None and p < 0.05 else "")
