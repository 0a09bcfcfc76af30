"""Sections on systems: scores, rank table and correlations."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from ..participants.bundle import SystemScores
from ..scores.score_table import SCORES, Score
from ..stats.correlations import (
    COEFFICIENTS,
    LEAST_FOR_P,
    LEAST_SYSTEMS,
    Coefficient,
    Correlation,
    smallest_p,
)
from ..stats.rank_agreement import desirability
from ..study.human_vs_model import Quantity, Relation, Relations
from .page import Block, Data, Section, Text
from .tables import Cell, Column, Table, csv_rows, fields, interval, number, scale

NAMES: dict[Coefficient, str] = {
    "pearson": "Pearson r",
    "spearman": "Spearman rho",
    "kendall": "Kendall tau-b",
}


FIXED_SYSTEMS = (
    "The systems and their scores stay as they are. The confidence intervals therefore describe the "
    "uncertainty about these systems, not about other systems."
)
REGION = (
    "95 % intervals: the smallest and the largest coefficient in the region that holds the central 95 % of "
    "the bootstrap replicates of all systems together. They are conservative (too wide rather than too "
    "narrow)."
)
TWO_WAY = (
    f"In brackets: {REGION} Participants and items are resampled (two-way bootstrap) and the human measures "
    f"aggregated again. {FIXED_SYSTEMS}"
)
OVER_PARTICIPANTS = (
    f"In brackets: {REGION} Participants are resampled within their system, or all together if any of them "
    "judged several systems. Items cannot be resampled because the table does not hold them: the statements "
    f"are about these items, and intervals that also allowed for other items would be wider. {FIXED_SYSTEMS}"
)
SWITCHED_OFF = "Confidence intervals were switched off (--resamples 0)."
NOTHING_TO_RESAMPLE = (
    "There are no confidence intervals: the table holds one value per system, without its "
    "uncertainty. A table with a row per system and participant (second column: participant) gives "
    "intervals; a folder of trials (`report`) gives those that also allow for other items."
)


@dataclass(frozen=True)
class _Part:
    """Some of the scores, as the columns of one table of several."""

    scores: Sequence[Quantity]
    number: int
    parts: int

    @property
    def suffix(self) -> str:
        return f"_{self.number}" if self.parts > 1 else ""

    def __str__(self) -> str:
        return f" ({self.number} of {self.parts})" if self.parts > 1 else ""


def scores_section(
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
        blocks.append(Text(f"Systems without model scores: {_quoted(absent)}."))
    if any(entry.is_known for entry in entries):
        notes = [
            _provenance(title, name, scores_by_system[name]) for title, name in systems if name not in absent
        ]
        blocks.append(_scores_table([title for title, _ in systems], entries, notes, intervals=bool(bounds)))
    if unused:
        text = f"Systems with scores but without a condition in this study: {_quoted(unused)}."
        blocks.append(Text(text, "note"))
    return Section("scores", "Model scores", blocks)


def ranks_section(relations: Relations, without: Relations | None = None) -> Section:
    """Show the rank table, and cells that the exclusions change."""
    title = "Rankings by people and by scores"
    if not relations.pairs or len(relations.systems) < 2:
        return Section("ranks", title, [Text(_too_few(relations))])
    blocks: list[Block] = [
        Text(
            "A + says that the model score ranks the systems as the human measure does, a − that the ranking "
            "is exactly reversed; other cells are blank, those with a tie say so. A coloured cell is "
            "desirable (green, ✓) when choosing the system with the better score moves the human measure the "
            "wanted way, and undesirable (red, ✗) when it moves it the other way. Measures without a wanted "
            "direction, such as completion time, are never coloured."
        ),
        Text(chance_sentence(len(relations.systems))),
        *(_rank_table(relations, part) for part in _parts(relations, 20)),
        Text(_count_desirable(relations)),
    ]
    if without is not None:
        blocks.append(Text(_changed_cells(relations, without)))
    return Section("ranks", title, blocks)


def correlations_section(relations: Relations, *, intervals: str) -> Section:
    """Show Pearson, Spearman and Kendall correlations of every pair.

    Args:
        relations: Measures related to scores.
        intervals: Sentences on the confidence intervals, or on why there are none.
    """
    n = len(relations.systems)
    if not relations.pairs or n < LEAST_SYSTEMS:
        pairs = [_all_pairs(relations)] if relations.pairs else []
        return Section("correlations", "Correlations", [Text(_too_few(relations)), *pairs])
    blocks: list[Block] = [Text(sentence) for sentence in (*what_n_shows(n), intervals)]
    for coefficient in COEFFICIENTS:
        blocks += [_correlation_table(relations, coefficient, part) for part in _parts(relations, 12)]
    blocks.append(_all_pairs(relations))
    return Section("correlations", "Correlations", blocks)


def what_n_shows(n: int) -> list[str]:
    """Describe what correlations over n systems can and cannot show."""
    rank_p, pearson_p = smallest_p(n, "spearman"), smallest_p(n, "pearson")
    smallest = (
        f"With n = {n} systems the smallest two-sided p that any ranking could reach is {rank_p:.2g} "
        f"({pearson_p:.2g} for Pearson’s r)"
    )
    if n == LEAST_SYSTEMS:
        return [
            f"n = {n}. With two systems every correlation is +1 or −1, whatever the score: it only says "
            "whether the system with the better score is also ahead with people, and proves nothing about "
            "others. No p below 1 could ever be reached. An interval from −1 to 1 says that people are too "
            "close to call."
        ]
    if n < LEAST_FOR_P:
        return [
            f"n = {n}. Over so few systems a correlation describes these systems and proves nothing about "
            f"others: a coefficient near 1 or −1 is common by chance alone.",
            f"{smallest}, so no p values are given; they are given from {LEAST_FOR_P} systems on.",
        ]
    return [
        f"n = {n}. p is two-sided, from permutations of the systems, and not corrected for "
        "multiple comparisons: among twenty unrelated pairs one falls below .05 on average.",
        f"{smallest}.",
    ]


def chance_sentence(n: int) -> str:
    """Describe how often chance fills a cell of the rank table."""
    share = min(1.0, smallest_p(n, "spearman"))
    if n == 2:
        return "With two systems every cell without a tie is + or −, whatever the score: it shows little."
    return (
        f"With {n} systems an unrelated score would fill a cell in {100 * share:.2g} % of the cases by "
        f"chance (2 of the {round(2 / share)} possible rankings)."
    )


class _Coefficient(NamedTuple):
    """A coefficient of a measure and a score; None for a pair without any."""

    measure: str
    score: str
    relation: Relation
    coefficient: Coefficient | None
    correlation: Correlation | None


def _all_pairs(relations: Relations) -> Data:
    """Tabulate all pairs: one row per measure, score and coefficient."""
    rows = [
        _Coefficient(*pair, relation, *coefficient)
        for pair, relation in relations.pairs.items()
        for coefficient in relation.correlations.items() or [(None, None)]
    ]
    columns = [
        *fields("measure", "score"),
        Column("n", "relation.n"),
        Column("rank", "relation.rank.sign"),
        Column("tied", "relation.rank.tied"),
        Column("desirable", "relation.desirable"),
        Column("coefficient"),
        Column("value", "correlation.value"),
        Column("low high", "correlation.interval"),
        *fields("p", "p_method", "smallest_p", of="correlation"),
        Column("reason", lambda row: (row.correlation or row.relation).reason),
    ]
    words = "Every measure with every score in full precision, also those not shown here"
    return Data("correlations", words, *csv_rows(columns, rows))


def _quoted(names: Sequence[str]) -> str:
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


def _scores_table(
    titles: Sequence[str], entries: Sequence[_Scored], notes: Sequence[str], *, intervals: bool
) -> Table:
    reasons: dict[str, int] = {}  # numbers of the footnotes, in the order of the cells

    def show(scored: _Scored) -> Cell:
        if scored.value is not None:
            return Cell(number(100 * scored.value, 2), detail=interval(scale(scored.interval, 100), 1))
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
    table = Table.crossed(
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
        place=lambda scored: (scored.score, scored.column),
    )
    notes = [*notes, *(f"({mark}) {reason}" for reason, mark in reasons.items())]
    if intervals:
        notes.append("In brackets: 95 % percentile intervals of a bootstrap over the questions.")
    return replace(table, notes=notes)


def _provenance(title: str, name: str, entry: SystemScores) -> str:
    parts = [f"{title}: system {name}" if title != name else title]
    if entry.revision:
        parts.append(f"revision {entry.revision}")
    if entry.n is not None:
        parts.append(f"{entry.n} questions")
    if entry.source:
        parts.append(f"source: {entry.source}")
    return ", ".join(parts) + "."


def _rank_table(relations: Relations, part: _Part) -> Table:
    def column(score: Quantity) -> Column:
        def relation(measure: Quantity) -> Relation:
            return relations.get(measure.key, score.key)

        def sign(measure: Quantity) -> str | None:
            rank = relation(measure).rank
            return rank.sign if rank else None

        return Column(
            (score.key,),
            sign,
            _head(score),
            lambda measure: _rank_cell(relation(measure), len(relations.systems)),
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
                lambda measure: Cell(measure.label, detail=_direction(measure)),
            ),
            *map(column, part.scores),
        ],
        ["↓ after a score: lower is better. n: systems that have the score, where some lack it."],
        wide=True,
    )


def _rank_cell(relation: Relation, systems: int) -> Cell:
    if relation.rank is None:
        return Cell("n/a", "missing")
    mark = {"desirable": "✓", "undesirable": "✗", "": ""}[relation.desirable]
    sign = relation.rank.sign.replace("-", "−")
    fewer = f"n = {relation.n}" if relation.n < systems else ""
    if relation.rank.tied:
        return Cell("", "sign", " ".join(filter(None, ("tie", fewer))))
    return Cell(f"{sign} {mark}".strip(), f"sign {relation.desirable}".strip(), fewer)


def _correlation_table(relations: Relations, coefficient: Coefficient, part: _Part) -> Table:
    n = len(relations.systems)
    labels = {measure.key: measure.label for measure in relations.measures if measure.headline}
    return Table.crossed(
        f"correlations_{coefficient}{part.suffix}",
        f"{NAMES[coefficient]}, n = {n} systems{part}",
        list(relations.pairs.values()),
        [Column("", cell=lambda relation: _correlation_cell(relation, coefficient, n))],
        rows=list(labels),
        heads=[Column("", labels.get, "Human measure")],
        across={score.key: _head(score) for score in part.scores},
        place=lambda relation: (relation.measure.key, relation.score.key),
        wide=True,
    )


def _parts(relations: Relations, columns: int) -> list[_Part]:
    """Split the scores into parts that fit on a page."""
    scores = [score for score in relations.scores if score.headline]
    cut = [scores[start : start + columns] for start in range(0, len(scores), columns)]
    return [_Part(part, number, len(cut)) for number, part in enumerate(cut, start=1)]


def _correlation_cell(relation: Relation, coefficient: Coefficient, systems: int) -> Cell:
    correlation: Correlation | None = relation.correlations.get(coefficient)
    if correlation is None or correlation.value is None:
        return Cell("n/a", "missing")
    p = "" if correlation.p is None else f"p {correlation.p:.3f}" if correlation.p >= 0.001 else "p < 0.001"
    fewer = f"n = {relation.n}" if relation.n < systems else ""
    detail = " ".join(filter(None, (interval(correlation.interval), p, fewer)))
    return Cell(number(correlation.value), "", detail)


def _count_desirable(relations: Relations) -> str:
    """Count desirable and undesirable cells among those that can be."""
    whole = len(relations.systems)
    pairs = [relation for relation in relations.pairs.values() if relation.n == whole]
    judged = [pair for pair in pairs if desirability("+", pair.measure.wanted, pair.score.wanted)]
    good = sum(pair.desirable == "desirable" for pair in judged)
    bad = sum(pair.desirable == "undesirable" for pair in judged)
    ties = sum(bool(pair.rank and pair.rank.tied) for pair in pairs)
    return (
        f"Of {len(pairs)} pairs that all systems have (also those in the file only) {len(judged)} have a "
        f"wanted direction on both sides; {good} are desirable, {bad} undesirable, the others blank. {ties} "
        "pairs are blank because of a tie."
    )


def _changed_cells(relations: Relations, without: Relations) -> str:
    changed = [
        f"{pair.measure.label} with {pair.score.label} ({_words(pair)} with, {_words(other)} without)"
        for key, pair in relations.pairs.items()
        if (other := without.pairs.get(key)) and pair.rank != other.rank
    ]
    if not changed:
        return "Without the exclusions the rank table is the same."
    shown = "; ".join(changed[:6])
    more = f"; and {len(changed) - 6} more" if len(changed) > 6 else ""
    return f"Without the exclusions {len(changed)} of {len(relations.pairs)} pairs change: {shown}{more}."


def _words(relation: Relation) -> str:
    if relation.rank is None:
        return "not available"
    return "tie" if relation.rank.tied else relation.rank.sign.replace("-", "−") or "blank"


def _too_few(relations: Relations) -> str:
    n = len(relations.systems)
    if n < LEAST_SYSTEMS:
        return f"Systems can be compared from two on; this study shows {n}."
    return "There is no model score for the systems of this study, so nothing can be related."


def _head(score: Quantity) -> str:
    return f"{score.label} ↓" if score.wanted == "lower" else score.label


def _direction(quantity: Quantity) -> str:
    words = {"higher": "higher is better", "lower": "lower is better", None: "no wanted direction"}
    return words[quantity.wanted]
