"""Sections on systems: their scores, and the rank table."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from statistics import median

from ...participants.bundle import SystemScores
from ...planning.declared_plan import Plan
from ...scores.score_table import SCORES, Score
from ...stats.correlations import LEAST_SYSTEMS, compute_smallest_p
from ...study.human_vs_model import Quantity, Relation, Relations
from ..page import Block, Section, Text
from ..tables import Cell, Column, Table, format_interval, format_number

MEANING = (
    "A + says that the model score ranks the systems as the human measure does, a − that the ranking is "
    "exactly reversed; other cells are blank, those with a tie say so."
)


@dataclass(frozen=True)
class Part:
    """Some of the scores or measures, as columns of one table of several."""

    shown: Sequence[Quantity]
    number: int
    parts: int

    @property
    def suffix(self) -> str:
        """Return the end of the table's name."""
        return f"_{self.number}" if self.parts > 1 else ""

    def __str__(self) -> str:
        return f" ({self.number} of {self.parts})" if self.parts > 1 else ""


def build_scores_section(
    systems: Sequence[tuple[str, str]],
    scores_by_system: Mapping[str, SystemScores],
    unused: Sequence[str],
    quantities: Sequence[Quantity] = (),
) -> Section:
    """Show the model scores of the systems; a missing score says why.

    Args:
        systems: Title and name in the scores file of each system.
        scores_by_system: Scores by name of the system.
        unused: Systems with scores but without a condition.
        quantities: Scores over the systems, for the intervals of those with replicates.
    """
    if not systems:
        text = "No condition of this study shows a system, so there are no model scores to relate."
        return Section("scores", "Model scores", [Text(text)])
    bounds = {
        (quantity.key, name): interval_of_score
        for quantity in quantities
        for column, (_, name) in enumerate(systems)
        if (interval_of_score := quantity.interval(column))
    }
    entries = [
        _Scored(column, name, score, scores_by_system.get(name), bounds.get((score.key, name)))
        for column, (_, name) in enumerate(systems)
        for score in SCORES
    ]
    blocks: list[Block] = []
    absent = [name for _, name in systems if name not in scores_by_system]
    if absent:
        blocks.append(Text(f"Systems without model scores: {_quote_names(absent)}."))
    if any(entry.is_known for entry in entries):
        notes = [
            _describe_provenance(title, name, scores_by_system[name])
            for title, name in systems
            if name not in absent
        ]
        blocks.append(
            _tabulate_scores([title for title, _ in systems], entries, notes, intervals=bool(bounds))
        )
    if unused:
        text = f"Systems with scores but without a condition in this study: {_quote_names(unused)}."
        blocks.append(Text(text, "note"))
    return Section("scores", "Model scores", blocks)


def build_ranks_section(
    relations: Relations,
    without: Relations | None = None,
    *,
    plan: Plan | None = None,
    drawn: str = "participants and items",
) -> Section:
    """Show the rank table, how sure its signs are, and what exclusions change.

    Args:
        relations: Measures related to scores.
        without: The same without the exclusions.
        plan: Says from which share of the replicates on a sign is coloured.
        drawn: Units of the human measures that were resampled.
    """
    title = "Rankings by people and by scores"
    if not relations.pairs or len(relations.systems) < LEAST_SYSTEMS:
        return Section("ranks", title, [Text(explain_too_few_systems(relations))])
    least = (plan or Plan()).sign_share
    parts = split_into_parts(relations.scores, 20)
    shown = [
        relations.get(measure.key, score.key)
        for measure in relations.measures
        if measure.headline
        for part in parts
        for score in part.shown
    ]
    blocks: list[Block] = [
        Text(f"{MEANING} {_describe_shares(relations, least, drawn)}"),
        Text(describe_chance(len(relations.systems))),
        *(_tabulate_ranks(relations, part, least) for part in parts),
        Text(describe_recurrence(shown, least)),
    ]
    if unknown := _describe_unknown_scores(shown):
        blocks.append(Text(unknown, "note"))
    if without is not None:
        blocks.append(Text(_describe_changed_cells(relations, without)))
    return Section("ranks", title, blocks)


def describe_recurrence(cells: Sequence[Relation], least: float) -> str:
    """Say how often the signs of cells recur in the replicates."""
    signed = [cell for cell in cells if cell.rank and cell.rank.sign]
    ties = sum(bool(cell.rank and cell.rank.tied) for cell in cells)
    shares = [cell.sign_share for cell in signed if cell.sign_share is not None]
    text = f"{len(signed)} of {len(cells)} cells have a sign; {ties} are blank because of a tie."
    if not shares:
        return text
    sure = sum(cell.is_recurring(least) for cell in signed)
    judged = [cell for cell in signed if cell.desirable]
    text += f" Their signs recur in {format_percent(median(shares))} of the replicates at the median"
    if 0 < len(judged) < len(signed):
        own = median(cell.sign_share or 0.0 for cell in judged)
        text += (
            f" ({format_percent(own)} in the {len(judged)} cells that would be coloured by their sign alone)"
        )
    verdict = (
        f"{sure} of them reach {format_percent(least)}"
        if sure
        else f"None of them reaches {format_percent(least)}"
    )
    return f"{text}. {verdict}; the others are open: a sample like this one could well give another sign."


def format_percent(share: float) -> str:
    """Format a share, rounded down so that 90 % is not shown for less."""
    return f"{int(100 * share + 1e-9)}\u00a0%"


def describe_chance(n: int) -> str:
    """Describe how often chance fills a cell of the rank table."""
    share = min(1.0, compute_smallest_p(n, "spearman"))
    if n == 2:
        return "With two systems every cell without a tie is + or −, whatever the score: it shows little."
    return (
        f"With {n} systems an unrelated score would fill a cell in {100 * share:.2g} % of the cases by "
        f"chance (2 of the {round(2 / share)} possible rankings)."
    )


def _quote_names(names: Sequence[str]) -> str:
    return ", ".join(f"“{name}”" for name in names)


@dataclass(frozen=True)
class _Scored:
    """A score of the system in a column; no entry without any of its scores."""

    column: int
    system: str
    score: Score
    entry: SystemScores | None
    interval: tuple[float, float] | None

    @property
    def is_known(self) -> bool:
        """True if the scores file has the score, perhaps without a value."""
        return self.entry is not None and self.score.key in self.entry.scores

    @property
    def value(self) -> float | None:
        """Return the score as a fraction; None if it is missing."""
        return self.entry.scores.get(self.score.key) if self.entry else None

    @property
    def reason(self) -> str:
        """Return the reason that the scores file gives for a missing score."""
        return self.entry.reasons.get(self.score.key, "") if self.entry and self.value is None else ""


def _tabulate_scores(
    titles: Sequence[str], entries: Sequence[_Scored], notes: Sequence[str], *, intervals: bool
) -> Table:
    reasons: dict[str, int] = {}  # numbers of the footnotes, in the order of the cells

    def show(scored: _Scored) -> Cell:
        if scored.value is not None:
            return Cell(format_number(100 * scored.value, 2), detail=format_interval(scored.interval, 1, 100))
        reason = "no scores for this system"
        if scored.entry:
            reason = scored.entry.reasons.get(scored.score.key, "not in the scores file")
        return Cell(f"none ({reasons.setdefault(reason, len(reasons) + 1)})", "missing")

    listed = {entry.score for entry in entries if entry.is_known}
    columns = [
        Column("system"),
        Column("score", "score.key"),
        Column("wanted", "score.wanted"),
        Column("value", cell=show),
        Column("low high", "interval"),
        Column("reason"),
    ]
    table = Table.from_records(
        "scores",
        "Model scores of the systems in this study",
        entries,
        columns,
        rows=[score for score in SCORES if score in listed],
        heads=[
            Column("", "label", "Score (%)"),
            Column("", lambda score: score.wanted or "", "Better", is_text=True),
        ],
        across=dict(enumerate(titles)),
        keys=lambda scored: (scored.score, scored.column),
    )
    notes = [*notes, *(f"({mark}) {reason}" for reason, mark in reasons.items())]
    if intervals:
        notes.append("In brackets: 95 % percentile intervals of a bootstrap over the questions.")
    return replace(table, notes=notes)


def _describe_provenance(title: str, name: str, entry: SystemScores) -> str:
    parts = [f"{title}: system {name}" if title != name else title]
    if entry.revision:
        parts.append(f"revision {entry.revision}")
    if entry.n is not None:
        parts.append(f"{entry.n} questions")
    if entry.source:
        parts.append(f"source: {entry.source}")
    return ", ".join(parts) + "."


def _describe_shares(relations: Relations, least: float, drawn: str) -> str:
    """Describe the shares, or say why there are none."""
    if all(relation.shares is None for relation in relations.pairs.values()):
        return "No cell is coloured, because without resampling nothing says how sure its sign is."
    return (
        f"The percentage is the share of bootstrap replicates in which the sign recurs; {drawn}, and the "
        "questions of the score where they are known, are resampled together. "
        f"From {format_percent(least)} on the cell shows its sign, "
        "green (✓) if choosing the system with the better score moves the human measure the wanted way and "
        "red (✗) if it moves it the other way; below, only the share is shown and the cell is open. Measures "
        "without a wanted direction, such as completion time, are never coloured."
    )


def _describe_unknown_scores(cells: Sequence[Relation]) -> str:
    """Name the scores whose own uncertainty the shares leave out."""
    drawn = [cell for cell in cells if cell.shares is not None]
    drawn_scores = {cell.score.key for cell in drawn if cell.is_score_drawn}
    lacking = list(dict.fromkeys(cell.score.label for cell in drawn if cell.score.key not in drawn_scores))
    if not lacking:
        return ""
    which = "all scores" if not drawn_scores else ", ".join(lacking)
    return (
        f"The uncertainty of {which} is unknown, because the contribution of each question is; their shares "
        "take the score as it is, and are therefore too high rather than too low."
    )


def _tabulate_ranks(relations: Relations, part: Part, least: float) -> Table:
    def column(score: Quantity) -> Column:
        def relation(measure: Quantity) -> Relation:
            return relations.get(measure.key, score.key)

        def sign(measure: Quantity) -> str | None:
            rank = relation(measure).rank
            return rank.sign if rank else None

        return Column(
            (score.key,),
            sign,
            format_head(score),
            lambda measure: _format_rank_cell(relation(measure), len(relations.systems), least),
        )

    return Table.from_columns(
        f"rank_table{part.suffix}",
        f"Rank relations of human measures and model scores, n = {len(relations.systems)} systems{part}",
        [measure for measure in relations.measures if measure.headline],
        [
            Column(
                "measure",
                "key",
                "Human measure",
                lambda measure: Cell(measure.label, detail=_describe_direction(measure)),
            ),
            *map(column, part.shown),
        ],
        ["↓ after a score: lower is better. n: systems that have the score, where some lack it."],
        wide=True,
    )


def _format_rank_cell(relation: Relation, systems: int, least: float) -> Cell:
    if relation.rank is None:
        return Cell("n/a", "missing")
    fewer = f"n = {relation.n}" if relation.n < systems else ""
    if relation.rank.tied:
        return Cell("", "sign", f"tie {fewer}".strip())
    sign, share = relation.rank.sign.replace("-", "−"), relation.sign_share
    if share is None:
        return Cell(sign, "sign", fewer)
    if not relation.is_recurring(least):
        return Cell("", "sign", f"{sign} {format_percent(share)} {fewer}".strip())
    mark = {"desirable": " ✓", "undesirable": " ✗", "": ""}[relation.desirable]
    return Cell(
        f"{sign}{mark}", f"sign {relation.desirable}".strip(), f"{format_percent(share)} {fewer}".strip()
    )


def split_into_parts(quantities: Sequence[Quantity], columns: int) -> list[Part]:
    """Split the headline ones into parts of like size that fit on a page."""
    shown = [quantity for quantity in quantities if quantity.headline]
    parts = -(-len(shown) // columns)
    ends = [part * len(shown) // parts for part in range(1, parts)]
    cut = [shown[start:end] for start, end in pairwise([0, *ends, len(shown)])] if shown else []
    return [Part(part, number, len(cut)) for number, part in enumerate(cut, start=1)]


def _describe_changed_cells(relations: Relations, without: Relations) -> str:
    changed = [
        f"{pair.measure.label} with {pair.score.label} ({_describe_rank(pair)} with, "
        f"{_describe_rank(other)} without)"
        for key, pair in relations.pairs.items()
        if (other := without.pairs.get(key)) and pair.rank != other.rank
    ]
    if not changed:
        return "Without the exclusions the rank table is the same."
    shown = "; ".join(changed[:6])
    more = f"; and {len(changed) - 6} more" if len(changed) > 6 else ""
    return f"Without the exclusions {len(changed)} of {len(relations.pairs)} pairs change: {shown}{more}."


def _describe_rank(relation: Relation) -> str:
    if relation.rank is None:
        return "not available"
    return "tie" if relation.rank.tied else relation.rank.sign.replace("-", "−") or "blank"


def explain_too_few_systems(relations: Relations) -> str:
    """Say why nothing can be related."""
    n = len(relations.systems)
    if n < LEAST_SYSTEMS:
        return f"Systems can be compared from two on; this study shows {n}."
    return "There is no model score for the systems of this study, so nothing can be related."


def format_head(score: Quantity) -> str:
    """Return a score as a heading, marked if lower is better."""
    return f"{score.label} ↓" if score.wanted == "lower" else score.label


def _describe_direction(quantity: Quantity) -> str:
    words = {"higher": "higher is better", "lower": "lower is better", None: "no wanted direction"}
    return words[quantity.wanted]
