"""Models of single trials that account for participants and items."""

from .bayesian_logistic import BayesModel, Posterior, bayes_logistic
from .gee_logistic import gee_logistic
from .linear_mixed import mixed_log_time
from .logit_mixed import mixed_logit
from .ordinal_logit import ordinal_logit
from .trial_model import Contrast, Model, Trials, read_trials

__all__ = [
    "BayesModel",
    "Contrast",
    "Model",
    "Posterior",
    "Trials",
    "bayes_logistic",
    "gee_logistic",
    "mixed_log_time",
    "mixed_logit",
    "ordinal_logit",
    "read_trials",
]
