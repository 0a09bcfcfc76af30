"""Sections on systems: scores, rank table and correlations."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

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
from .tables import Cell, Table, interval, number

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
    "judged several systems. Items cannot be resampled because the table does not hold them: the "
    "statements are about these items, and intervals that also allowed for other items would be wider. "
    f"{FIXED_SYSTEMS}"
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
    reasons: list[str] = []
    bounds = {
        (quantity.key, name): interval_of_score
        for quantity in quantities
        for column, (_, name) in enumerate(systems)
        if (interval_of_score := quantity.interval(column))
    }
    rows = []
    for score in SCORES:
        if any(score.key in scores_by_system[name].scores for _, name in systems if name in scores_by_system):
            cells = [
                _score_cell(score, name, scores_by_system, reasons, bounds.get((score.key, name)))
                for _, name in systems
            ]
            rows.append([Cell(score.label), Cell(score.wanted or ""), *cells])
    blocks: list[Block] = []
    absent = [name for _, name in systems if name not in scores_by_system]
    if absent:
        blocks.append(Text(f"Systems without model scores: {_quoted(absent)}."))
    if rows:
        notes = [
            _provenance(title, name, scores_by_system[name])
            for title, name in systems
            if name in scores_by_system
        ]
        notes += [f"({mark}) {reason}" for mark, reason in enumerate(reasons, start=1)]
        header = ["Score (%)", "Better", *(title for title, _ in systems)]
        caption = "Model scores of the systems in this study"
        if bounds:
            notes.append("In brackets: 95 % percentile intervals of a bootstrap over the questions.")
        data_header, data = _scores_data(systems, scores_by_system, bounds)
        blocks.append(Table("scores", caption, header, rows, notes, data_header, data, words=(1,)))
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
            "close to call.",
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


def _all_pairs(relations: Relations) -> Data:
    words = "Every measure with every score in full precision, also those not shown here"
    return Data("correlations", words, *relations_data(relations))


def relations_data(relations: Relations) -> tuple[list[str], list[list[object]]]:
    """Tabulate all pairs: one row per measure, score and coefficient."""
    header = [
        "measure", "score", "n", "rank", "tied", "desirable", "coefficient", "value", "low", "high", "p",
        "p_method", "smallest_p", "reason",
    ]  # fmt: skip
    rows: list[list[object]] = []
    for (measure, score), relation in relations.pairs.items():
        sign = relation.rank.sign if relation.rank else None
        tied = relation.rank.tied if relation.rank else None
        start: list[object] = [measure, score, relation.n, sign, tied, relation.desirable]
        if not relation.correlations:
            rows.append([*start, *[None] * 7, relation.reason])
        for name, correlation in relation.correlations.items():
            low, high = correlation.interval or (None, None)
            end = [
                correlation.value,
                low,
                high,
                correlation.p,
                correlation.p_method,
                correlation.smallest_p,
                correlation.reason,
            ]
            rows.append([*start, name, *end])
    return header, rows


def _quoted(names: Sequence[str]) -> str:
    return ", ".join(f"“{name}”" for name in names)


def _score_cell(
    score: Score,
    name: str,
    scores_by_system: Mapping[str, SystemScores],
    reasons: list[str],
    bounds: tuple[float, float] | None,
) -> Cell:
    """Format a score in percent, or a mark of why it is missing.

    The reason is added to `reasons`.
    """
    entry = scores_by_system.get(name)
    value = entry.scores.get(score.key) if entry else None
    if value is not None:
        shown = (100 * bounds[0], 100 * bounds[1]) if bounds else None
        return Cell(number(100 * value, 2), detail=interval(shown, 1))
    reason = "no scores for this system"
    if entry:
        reason = entry.reasons.get(score.key, "not in the scores file")
    if reason not in reasons:
        reasons.append(reason)
    return Cell(f"none ({reasons.index(reason) + 1})", "missing")


def _scores_data(
    systems: Sequence[tuple[str, str]],
    scores_by_system: Mapping[str, SystemScores],
    bounds: Mapping[tuple[str, str], tuple[float, float]],
) -> tuple[list[str], list[list[object]]]:
    rows: list[list[object]] = []
    for _, name in systems:
        for score in SCORES:
            entry = scores_by_system.get(name)
            value = entry.scores.get(score.key) if entry else None
            reason = entry.reasons.get(score.key, "") if entry and value is None else ""
            ends = bounds.get((score.key, name), (None, None))
            rows.append([name, score.key, score.wanted, value, *ends, reason])
    return ["system", "score", "wanted", "value", "low", "high", "reason"], rows


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
    measures = [measure for measure in relations.measures if measure.headline]
    rows = [
        [Cell(measure.label, detail=_direction(measure))]
        + [_rank_cell(relations.get(measure.key, score.key), len(relations.systems)) for score in part.scores]
        for measure in measures
    ]
    return Table(
        f"rank_table{part.suffix}",
        f"Rank relations of human measures and model scores, n = {len(relations.systems)} systems{part}",
        ["Human measure", *(_head(score) for score in part.scores)],
        rows,
        ["↓ after a score: lower is better. n: systems that have the score, where some lack it."],
        ["measure", *(score.key for score in part.scores)],
        [[measure.key, *(_sign(relations, measure, score) for score in part.scores)] for measure in measures],
        wide=True,
    )


def _sign(relations: Relations, measure: Quantity, score: Quantity) -> str | None:
    rank = relations.get(measure.key, score.key).rank
    return rank.sign if rank else None


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
    measures = [measure for measure in relations.measures if measure.headline]
    rows = [
        [Cell(measure.label)]
        + [
            _correlation_cell(relations.get(measure.key, score.key), coefficient, len(relations.systems))
            for score in part.scores
        ]
        for measure in measures
    ]
    return Table(
        f"correlations_{coefficient}{part.suffix}",
        f"{NAMES[coefficient]}, n = {len(relations.systems)} systems{part}",
        ["Human measure", *(_head(score) for score in part.scores)],
        rows,
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
