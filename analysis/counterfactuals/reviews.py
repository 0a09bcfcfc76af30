"""Inter-annotator agreement on counterfactual instances.

People checked them: valid, repaired or rejected. Krippendorff's alpha has the
nominal metric.
"""

from collections.abc import Sequence
from typing import Any, get_args

import numpy as np

from ..participants.krippendorff import Alpha, krippendorff_alpha, pair_agreement
from .instances import Instance, Verdict

RESAMPLES = 2000


def verdict_agreement(
    instances: Sequence[Instance], *, rng: np.random.Generator, resamples: int = RESAMPLES
) -> tuple[float | None, Alpha]:
    """Measure agreement of verdicts: share of equal pairs, and alpha.

    People count by the order in which they began an instance, because alpha does
    not depend on who they are.

    Args:
        instances: With the verdicts of their reviews.
        rng: Source of random numbers.
        resamples: Of the bootstrap over instances for alpha's confidence interval.

    Returns:
        The share of equal verdicts in all pairs of verdicts on an instance, from 0
        to 1, None if no instance has two reviews; and Krippendorff's alpha.
    """
    levels = get_args(Verdict)
    most = max((len(instance.reviews) for instance in instances), default=0)
    ratings = np.full((most, len(instances)), np.nan)
    for column, instance in enumerate(instances):
        ratings[: len(instance.reviews), column] = [levels.index(review) for review in instance.reviews]
    alpha = krippendorff_alpha(ratings, "nominal", rng=rng, resamples=resamples)
    n = (~np.isnan(ratings)).sum(axis=0)
    pairs = n * (n - 1)
    if not pairs.any():
        return None, alpha
    return float(np.nansum(pair_agreement(ratings) * pairs) / pairs.sum()), alpha


def as_json(instances: Sequence[Instance], *, rng: np.random.Generator) -> dict[str, Any]:
    """Count verdicts and measure their agreement, ready for JSON."""
    share, alpha = verdict_agreement(instances, rng=rng)
    settled = [instance.verdict or "open" for instance in instances]
    return {
        "instances": len(instances),
        "verdicts": {name: settled.count(name) for name in sorted(set(settled))},
        "reviewed_twice": alpha.items,
        "reviews": alpha.ratings,
        "alike": share,
        "alpha": alpha.value,
        "interval": alpha.interval,
        "reason": alpha.reason,
    }
