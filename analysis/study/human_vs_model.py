"""Human measures against model scores: ranks, correlations, desirability."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..io.errors import AnalysisError
from ..planning.declared_plan import Plan
from ..stats.arrays import Array
from ..stats.bootstrap import percentile_interval
from ..stats.correlations import (
    COEFFICIENTS,
    Coefficient,
    Correlation,
    Replicates,
    Rows,
    correlate,
)
from ..stats.rank_agreement import (
    Direction,
    RankRelation,
    SignShares,
    compare_pair_signs,
    desirability,
    rank_relation,
)
from ..stats.streams import derive_stream

# Without a plan: as in figure 4 of Schuff et al. 2020; then those of other tasks.
MAIN_MEASURES = ("fp", "agreement", "over_reliance", "simulation_effect", "precision")
MAIN_SCORES = ("joint_f1", "f1")  # the scores by which leaderboards rank


@dataclass(frozen=True)
class Quantity:
    """A human measure or a model score, over the systems.

    values: one per system, NaN where it is not known. replicates: bootstrap replicates × systems, if any: of
    a human measure over participants and items, of a score over its questions; NaN throughout for a system
    whose questions are unknown.
    """

    key: str
    label: str
    wanted: Direction
    values: Array
    replicates: Array | None = None
    headline: bool = True

    def interval(self, system: int) -> tuple[float, float] | None:
        """Return the 95 % interval of a system; None without replicates."""
        return None if self.replicates is None else percentile_interval(self.replicates[:, system])


def check_quantities(systems: Sequence[str], quantities: Iterable[Quantity]) -> None:
    """Raise ValueError for a quantity without one value per system."""
    for quantity in quantities:
        if len(quantity.values) != len(systems):
            raise ValueError(f"{quantity.key} has {len(quantity.values)} values for {len(systems)} systems")


@dataclass(frozen=True)
class Relation:
    """One human measure and one model score over the systems that have both.

    Attributes:
        measure: The human measure.
        score: The model score.
        n: Number of systems that have both.
        rank: Relation of the rankings; None for fewer than two systems, `reason` then says so.
        desirable: "desirable" if choosing by the score improves the measure, "undesirable" if it worsens it;
            "" without a sign, and if any system lacks a value: the ranking is then not one of the systems to
            choose from.
        correlations: Coefficient to correlation.
        shares: Of the replicates, those with the same and the reversed ranking; None without replicates.
        is_score_drawn: True if the score varied in them, because its questions are known for all systems.
        reason: Why there is no relation; empty otherwise.
    """

    measure: Quantity
    score: Quantity
    n: int
    rank: RankRelation | None
    desirable: Literal["desirable", "undesirable", ""]
    correlations: dict[Coefficient, Correlation]
    shares: SignShares | None = None
    is_score_drawn: bool = False
    reason: str = ""

    @property
    def sign_share(self) -> float | None:
        """Return the share of replicates in which the sign recurs."""
        return self.shares.of(self.rank.sign) if self.shares and self.rank else None

    def is_recurring(self, least: float) -> bool:
        """Return whether the sign recurs in at least this share.

        Args:
            least: Share of replicates, from 0 to 1.

        Returns:
            False without replicates.
        """
        return self.sign_share is not None and self.sign_share >= least


@dataclass(frozen=True)
class Relations:
    """Every human measure with every model score over the same systems.

    Attributes:
        systems: Names.
        measures: The human measures.
        scores: The model scores.
        pairs: Key of a measure and of a score to their relation.
    """

    systems: tuple[str, ...]
    measures: tuple[Quantity, ...]
    scores: tuple[Quantity, ...]
    pairs: dict[tuple[str, str], Relation]

    def get(self, measure: str, score: str) -> Relation:
        """Return the relation of the measure and the score.

        Args:
            measure: Key of the measure.
            score: Key of the score.

        Returns:
            The relation; one that is undefined has a reason.

        Raises:
            KeyError: They were not related.
        """
        return self.pairs[measure, score]


def select_declared_scores(relations: Relations, plan: Plan) -> list[Quantity]:
    """Return the scores that the plan relates to people.

    All headline scores if it declares none.

    Raises:
        AnalysisError: The plan names another score.
    """
    scores = {score.key: score for score in relations.scores}
    for key in plan.scores:
        if key not in scores:
            raise AnalysisError(
                f"the plan does not fit the study: its systems have no score {key!r}; they have "
                f"{', '.join(scores)}"
            )
    return [scores[key] for key in plan.scores] or [score for score in relations.scores if score.headline]


def choose_main_relation(relations: Relations, plan: Plan) -> Relation | None:
    """Return the relation that the report shows first.

    That of the plan's first measure and first score, or of the first known main ones.
    """
    measures = [measure.key for measure in relations.measures]
    scores = [score.key for score in relations.scores]
    wanted = (*(measure for measure, *_ in plan.family), *MAIN_MEASURES, *measures)
    measure = next((key for key in wanted if key in measures), None)
    score = next((key for key in (*plan.scores, *MAIN_SCORES, *scores) if key in scores), None)
    return None if measure is None or score is None else relations.get(measure, score)


def relate(
    systems: Sequence[str],
    measures: Sequence[Quantity],
    scores: Sequence[Quantity],
    *,
    rng: np.random.Generator,
) -> Relations:
    """Relate every measure with every score.

    Args:
        systems: Names of the systems, for readers.
        measures: Human measures, one value per system, NaN where unknown.
        scores: Model scores, one value per system, NaN where unknown.
        rng: Source of random numbers; see `correlate`.

    Returns:
        A relation of each measure with each score.

    Raises:
        ValueError: A quantity has another number of values than there are systems.
    """
    check_quantities(systems, (*measures, *scores))
    drawn: dict[tuple[str, bytes], _Drawn] = {}  # of scores, which all measures share
    pairs = {}
    for measure in measures:
        people: dict[bytes, Replicates | None] = {}
        for score in scores:
            both = ~np.isnan(measure.values) & ~np.isnan(score.values)
            key = both.tobytes()
            if key not in people:
                people[key] = _select_replicates(measure, both)
            if (score.key, key) not in drawn:
                drawn[score.key, key] = _build_draws(score, both)
            relation = _build_relation(measure, score, both, people[key], drawn[score.key, key], rng)
            pairs[measure.key, score.key] = relation
    return Relations(tuple(systems), tuple(measures), tuple(scores), pairs)


class _Drawn(NamedTuple):
    """A score in replicates over questions.

    varies: whether it does for every system.
    """

    rows: Rows
    varies: bool


def _select_replicates(measure: Quantity, both: NDArray[np.bool_]) -> Replicates | None:
    return (
        None if measure.replicates is None else Replicates(measure.values[both], measure.replicates[:, both])
    )


def _build_draws(score: Quantity, both: NDArray[np.bool_]) -> _Drawn:
    values = score.values[both]
    if score.replicates is None:
        return _Drawn(Rows(values[None]), varies=False)
    unknown = np.isnan(score.replicates[:, both]).all(axis=0)
    return _Drawn(Rows(np.where(unknown, values, score.replicates[:, both])), varies=not unknown.any())


def _build_relation(
    measure: Quantity,
    score: Quantity,
    both: NDArray[np.bool_],
    people: Replicates | None,
    drawn: _Drawn,
    rng: np.random.Generator,
) -> Relation:
    n = int(both.sum())
    if n < 2:
        reason = "fewer than two systems have both values"
        return Relation(measure, score, n, None, "", {}, reason=reason)
    x, y = measure.values[both], score.values[both]
    rank = rank_relation(x, y)
    return Relation(
        measure=measure,
        score=score,
        n=n,
        rank=rank,
        desirable=desirability(rank.sign, measure.wanted, score.wanted) if both.all() else "",
        correlations={
            coefficient: correlate(
                x,
                y,
                coefficient,
                replicates=people,
                model_replicates=drawn.rows,
                rng=derive_stream(rng, measure.key, score.key, coefficient),
            )
            for coefficient in COEFFICIENTS
        },
        shares=None
        if people is None
        else compare_pair_signs(people.transform_for("kendall"), drawn.rows.transform_for("kendall")),
        is_score_drawn=people is not None and drawn.varies,
    )
