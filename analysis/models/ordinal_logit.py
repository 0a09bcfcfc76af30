"""Ratings on ordered points, trial by trial: cumulative logit with participants as clusters.

Source: McCullagh 1980 (proportional odds); Liang and Zeger 1986 (sandwich covariance over clusters). The
sandwich is made here from the score contributions of statsmodels' OrderedModel, which does not cluster.
"""

import numpy as np
from numpy.typing import NDArray
from statsmodels.miscmodels.ordinal_model import OrderedModel

from ..stats.arrays import Array
from ..stats.results import INDEPENDENT, SAME_ITEMS, check_level
from .trial_model import (
    SEPARATED,
    Model,
    Trials,
    design,
    fewest_participants,
    fitted_model,
    participant_freedom,
    recorded_warnings,
    refused,
    unsupported,
)

METHOD = "cumulative logit, participants as clusters, sandwich covariance"
SCALE = "cumulative log odds"
GRADIENT = 1e-4  # largest slope of the log-likelihood per trial at what counts as its maximum
FEW = 10
FEW_NOTE = (
    f"With fewer than {FEW} participants in a condition the sandwich tends to be too small, and the test to "
    "reject somewhat too often: with 5, in 6 to 12 of 100 simulated studies without a difference, not in 5."
)


def ordinal_logit(trials: Trials, *, position: bool = False, level: float = 0.95) -> Model:
    """Log odds of a higher rating by condition, alike at every point of the scale (proportional odds).

    Covariance H⁻¹ (Σ s_g s_g′) H⁻¹ · G/(G − 1): H the Hessian of the log-likelihood of independent trials,
    s_g the score summed over participant g's trials, in whatever conditions, G participants. t with the
    degrees of freedom of `participant_freedom`. trials: outcome any numbers in the order of the scale.
    position: adjust for the item's place.

    Refused where a condition has fewer than two participants, where no finite estimate exists and where the
    fit does not converge. Raises ValueError.
    """
    check_level(level)
    reason = unsupported(trials, position=position) or _one_ended(trials)
    if reason:
        return refused(trials, METHOD, SCALE, reason, level=level)
    exog = design(trials, intercept=False, position=position)
    ratings = np.unique(trials.outcome, return_inverse=True)[1]
    with recorded_warnings():
        model = OrderedModel(ratings, exog, distr="logit")
        try:
            fit = model.fit(method="bfgs", maxiter=500, disp=0)
            parameters = np.asarray(fit.params)
            inverse = np.linalg.inv(-model.hessian(parameters))
        except np.linalg.LinAlgError:
            return refused(trials, METHOD, SCALE, "the likelihood has no single maximum", level=level)
        scores = model.score_obs(parameters)
    effects = exog.shape[1]
    if np.abs(parameters[:effects]).max() > SEPARATED:
        return refused(
            trials, METHOD, SCALE, "the ratings are separated: an odds ratio is infinite", level=level
        )
    if np.abs(scores.sum(axis=0)).max() > GRADIENT * len(ratings):
        return refused(trials, METHOD, SCALE, "the fit did not converge", level=level)
    covariance = clustered_covariance(inverse, scores, trials.participant)
    return fitted_model(
        trials,
        parameters[:effects],
        covariance[:effects, :effects],
        method=METHOD,
        scale=SCALE,
        freedom=participant_freedom(trials),
        level=level,
        position=position,
        details={
            "points of the scale in use": float(ratings.max() + 1),
            "largest inflation of a variance by clustering": _inflation(covariance, inverse, effects),
        },
        assumptions=(
            INDEPENDENT,
            SAME_ITEMS,
            "A condition shifts the odds of a higher rating alike at every point of the scale.",
        ),
        notes=(FEW_NOTE,) if fewest_participants(trials) < FEW else (),
    )


def clustered_covariance(inverse: Array, scores: Array, clusters: NDArray[np.intp]) -> Array:
    """Sandwich covariance of a maximum-likelihood fit.

    inverse: of the negative Hessian, k × k. scores: trials × k. clusters: code per trial.
    """
    count = int(clusters.max()) + 1
    sums = np.zeros((count, scores.shape[1]))
    np.add.at(sums, clusters, scores)
    return np.asarray(inverse @ (sums.T @ sums) @ inverse * count / (count - 1))


def _inflation(covariance: Array, inverse: Array, effects: int) -> float:
    return float((np.diag(covariance) / np.diag(inverse))[:effects].max())


def _one_ended(trials: Trials) -> str:
    """Which condition has only the lowest or only the highest rating, "" where none has."""
    ends = (trials.outcome.min(), trials.outcome.max())
    for index, name in enumerate(trials.conditions):
        own = trials.outcome[trials.condition == index]
        if np.ptp(own) == 0 and own[0] in ends:
            return f"all ratings in condition {name} are the same end of the scale, so its odds are infinite"
    return ""
