"""Logistic GEE of binary answers, clustered by participant.

References:
    1. Liang and Zeger (1986): clusters are participants, exchangeable working
       correlation.
    2. Mancl and DeRouen (2001): bias-reduced covariance, for few clusters.
"""

import warnings
from functools import partial

import numpy as np
from statsmodels.genmod.cov_struct import Exchangeable
from statsmodels.genmod.families import Binomial
from statsmodels.genmod.generalized_estimating_equations import GEE

from ..stats.arguments import check_level
from ..stats.results import INDEPENDENT, SAME_ITEMS
from .trial_model import (
    SEPARATED,
    Model,
    Trials,
    build_design_matrix,
    build_model,
    build_refused_model,
    count_participant_freedom,
    explain_unsupported,
)

METHOD = "logistic GEE, participants as clusters, exchangeable, bias-reduced covariance"
SCALE = "log odds"


def gee_logistic(trials: Trials, *, position: bool = False, level: float = 0.95) -> Model:
    """Estimate the log odds of the answer 1 by condition.

    They are averaged over the population of participants. The covariance is the
    bias-reduced sandwich over participants, with t and F of `count_participant_freedom`:
    the normal and chi-squared distributions reject too often
    (docs/reference/coverage.md). Trials of one participant in several conditions
    are one cluster.

    Args:
        trials: Outcomes are 0 or 1.
        position: Adjust for the item's position in the order.
        level: Of the confidence intervals.

    Returns:
        Contrasts in log odds. Refused for fewer than 8
        participants in a condition, if all answers of a condition are alike (its
        odds would be infinite), and without convergence.

    Raises:
        ValueError: An outcome is neither 0 nor 1, or `level` does not lie between 0 and 1.
    """
    check_level(level)
    if not np.isin(trials.outcome, (0.0, 1.0)).all():
        raise ValueError("outcome must be 0 or 1")
    reason = explain_unsupported(trials, position=position) or explain_uniform_condition(trials)
    refuse = partial(build_refused_model, trials, METHOD, SCALE, level=level)
    if reason:
        return refuse(reason)
    exog = build_design_matrix(trials, intercept=True, position=position)
    order = np.argsort(trials.participant, kind="stable")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a check below refuses what they say
        model = GEE(
            trials.outcome[order],
            exog[order],
            groups=trials.participant[order],
            family=Binomial(),
            cov_struct=Exchangeable(),
        )
        try:
            fit = model.fit(cov_type="bias_reduced")
        except np.linalg.LinAlgError:
            return refuse("the estimating equations have no solution")
    if not fit.converged:
        return refuse("the fit did not converge")
    if np.abs(fit.params).max() > SEPARATED:
        return refuse("the answers are separated: an odds ratio is infinite")
    correlation = float(model.cov_struct.dep_params)
    return build_model(
        trials,
        np.asarray(fit.params)[1:],
        np.asarray(fit.cov_params())[1:, 1:],
        method=METHOD,
        scale=SCALE,
        freedom=count_participant_freedom(trials),
        level=level,
        position=position,
        sandwich=True,
        details={"correlation within participants": correlation},
        assumptions=(
            INDEPENDENT,
            SAME_ITEMS,
            "Answers that are missing or excluded are so for reasons unrelated to what they would have been.",
        ),
    )


def explain_uniform_condition(trials: Trials) -> str:
    """Name a condition with only one kind of answer, "" if there is none."""
    for index, name in enumerate(trials.conditions):
        if np.ptp(trials.outcome[trials.condition == index]) == 0:
            return f"all answers in condition {name} are alike, so its odds are zero or infinite"
    return ""
