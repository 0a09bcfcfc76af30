"""Trials of crossed participants and items for tests of the models.

They are simulated, or those of the released study.
"""

import numpy as np
import pandas as pd

from analysis.participants.bundle import load_bundle
from analysis.study.analysis import Options, analyse
from tests.analysis.bundles import released_study

NAMES = ("Qi-2019", "Select & Forget", "regularized", "ground truth")


def crossed_trials(
    rng, people=(10, 10), items=20, effect=0.0, person_sd=0.7, item_sd=1.0, item_condition_sd=0.0, slope=-0.02
):
    """Return a frame with a binary answer, a rating of 1–5 and a time.

    `effect` moves the second condition.
    """
    total = sum(people)
    participant, item = np.repeat(np.arange(total), items), np.tile(np.arange(items), total)
    condition = (participant >= people[0]).astype(int)
    position = np.concatenate([rng.permutation(items) + 1 for _ in range(total)])
    predictor = rng.normal(0, person_sd, total)[participant] + rng.normal(0, item_sd, items)[item]
    predictor = predictor + rng.normal(0, item_condition_sd, (items, 2))[item, condition] + effect * condition
    latent = predictor + rng.logistic(size=len(predictor))
    log_time = 4 + 0.4 * predictor + slope * (position - items / 2) + rng.normal(0, 0.4, len(predictor))
    return pd.DataFrame(
        {
            "participant_id": [f"p{code:03d}" for code in participant],
            "item_id": [f"q{code:03d}" for code in item],
            "condition": np.array(["a", "b"])[condition],
            "position": position,
            "answer": (latent > -0.7).astype(float),
            "rating": 1.0 + np.digitize(latent, [-3, -1.5, -0.3, 1.5]),
            "seconds": np.exp(log_time),
        }
    )


def released_trials(folder):
    """Return the retained trials of the released study.

    Skip the test if its file is absent.
    """
    return analyse(load_bundle(released_study(folder)), Options(resamples=0)).retained.trials
