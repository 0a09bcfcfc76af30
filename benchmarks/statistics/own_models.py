"""Compare our ordinal and linear mixed models with those of statsmodels.

Run ``python -m benchmarks.statistics.own_models``.

Studies of two conditions that do not differ, with participants and items that do. For each model: processor
milliseconds of the median fit, how far the two estimates lie apart at most, and the share of studies in which
a test at 5 % rejects. OrderedModel of statsmodels gets the participants as clusters, its MixedLM participants
and items as crossed variance components, as its documentation has them; fits that do not converge are not
counted.

Bars: estimates agree, and our tests reject in no more than `MOST` of the studies, but for chance.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy import stats
from statsmodels.miscmodels.ordinal_model import OrderedModel
from statsmodels.regression.mixed_linear_model import MixedLM

from analysis.models.linear_mixed import mixed_log_time
from analysis.models.ordinal_logit import ordinal_logit
from analysis.models.trial_model import Trials
from analysis.stats.streams import derive_stream

MOST = 0.075
CLOSE = 1e-3  # log odds, or log seconds
ITEMS = 10
CUTS = (-2.0, -0.8, 0.6, 2.0)  # of the ratings

Fit = tuple[float, float] | None  # estimate and p; None for none


def simulate(rng: np.random.Generator, people: int) -> tuple[Trials, Trials]:
    """Simulate ratings and times of two conditions that are alike on average."""
    participant, item = np.repeat(np.arange(2 * people), ITEMS), np.tile(np.arange(ITEMS), 2 * people)
    condition = (participant >= people).astype(int)
    own = rng.normal(0, 0.7, 2 * people)[participant] + rng.normal(0, 0.8, ITEMS)[item]
    ratings = np.digitize(own + rng.logistic(size=len(own)), CUTS).astype(float)
    seconds = np.exp(3 + 0.5 * own + rng.normal(0, 0.5, len(own)))
    rating, timed = (
        Trials(outcome, participant, item, condition, None, ("a", "b")) for outcome in (ratings, seconds)
    )
    return rating, timed


def fit_own_ordinal(trials: Trials) -> Fit:
    """Fit our ordinal model."""
    model = ordinal_logit(trials)
    return None if model.reason else (model.contrasts[0].estimate, model.contrasts[0].p)


def fit_own_mixed(trials: Trials) -> Fit:
    """Fit our linear mixed model with the random effects that MixedLM gets."""
    model = mixed_log_time(trials, position=False, item_by_condition=False)
    return None if model.reason else (model.contrasts[0].estimate, model.contrasts[0].p)


def fit_their_ordinal(trials: Trials) -> Fit:
    """Fit OrderedModel with participants as clusters."""
    fit = OrderedModel(
        trials.outcome.astype(int), trials.condition[:, None].astype(float), distr="logit"
    ).fit(method="bfgs", disp=0, cov_type="cluster", cov_kwds={"groups": trials.participant})
    return float(fit.params[0]), float(fit.pvalues[0])


def fit_their_mixed(trials: Trials) -> Fit:
    """Fit MixedLM with participants and items crossed, None if it fails."""
    frame = pd.DataFrame(
        {
            "time": np.log(trials.outcome), "condition": trials.condition.astype(float),
            "participant": trials.participant, "item": trials.item,
        }
    )  # fmt: skip
    crossed = {"participant": "0 + C(participant)", "item": "0 + C(item)"}
    fit = MixedLM.from_formula(
        "time ~ condition", frame, groups=np.ones(len(frame)), vc_formula=crossed
    ).fit()
    return None if not fit.converged else (float(fit.params["condition"]), float(fit.pvalues["condition"]))


PAIRS: dict[str, tuple[Callable[[Trials], Fit], Callable[[Trials], Fit]]] = {
    "ordinal": (fit_own_ordinal, fit_their_ordinal),
    "linear mixed": (fit_own_mixed, fit_their_mixed),
}


@dataclass
class Tally:
    """Fits of all studies.

    Attributes:
        milliseconds: Of processor time.
        estimates: None for no fit, as in ``p``.
    """

    milliseconds: list[float]
    estimates: list[float | None]
    p: list[float | None]

    def add(self, fit: Callable[[Trials], Fit], trials: Trials) -> None:
        """Fit, and keep what came out."""
        begun = time.process_time()
        fitted = fit(trials)
        self.milliseconds.append(1000 * (time.process_time() - begun))
        estimate, p = fitted or (None, None)
        self.estimates.append(estimate)
        self.p.append(p)

    def rejections(self, alpha: float = 0.05) -> tuple[int, int]:
        """Return how many fits reject, and how many there are."""
        fitted = [p for p in self.p if p is not None]
        return sum(p <= alpha for p in fitted), len(fitted)

    def words(self) -> str:
        """Return the median time and the share that rejects."""
        hits, fits = self.rejections()
        return f"{np.median(self.milliseconds):.1f} ms, {hits / fits:.1%} of {fits} reject"


def compare(people: int, studies: int, *, seed: int = 5) -> dict[str, tuple[Tally, Tally]]:
    """Fit both models of each pair to the same studies."""
    tallies = {name: (Tally([], [], []), Tally([], [], [])) for name in PAIRS}
    for study in range(studies):
        rng = derive_stream(np.random.default_rng(seed), "own models", str(people), str(study))
        for (name, fits), trials in zip(PAIRS.items(), simulate(rng, people), strict=True):
            for tally, fit in zip(tallies[name], fits, strict=True):
                tally.add(fit, trials)
    return tallies


def main() -> int:
    """Print the comparison, and return 1 when a bar was missed."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.statistics.own_models", description=main.__doc__
    )
    parser.add_argument("--studies", type=int, default=200, help="(default: %(default)s)")
    parser.add_argument("--people", type=int, nargs="*", default=[8, 20], help="(default: 8 20)")
    options = parser.parse_args()
    if os.environ.get("OMP_NUM_THREADS") != "1":  # more threads gain nothing on small matrices
        command = [sys.executable, "-m", "benchmarks.statistics.own_models", *sys.argv[1:]]
        return subprocess.call(command, env={**os.environ, "OMP_NUM_THREADS": "1"})
    warnings.simplefilter("ignore")  # statsmodels warns of each attempt that does not converge
    missed = False
    for people in options.people:
        for name, (own, theirs) in compare(people, options.studies).items():
            pairs = zip(own.estimates, theirs.estimates, strict=True)
            apart = max((abs(a - b) for a, b in pairs if a is not None and b is not None), default=np.nan)
            ratio = np.median(theirs.milliseconds) / np.median(own.milliseconds)
            print(
                f"{name}, {people} per condition × {ITEMS} items: ours {own.words()}; statsmodels "
                f"{theirs.words()}; {ratio:.0f} times as long; estimates at most {apart:.1g} apart",
                flush=True,
            )
            hits, fits = own.rejections()
            missed |= not apart <= CLOSE or hits > stats.binom.ppf(0.999, fits, MOST)
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
