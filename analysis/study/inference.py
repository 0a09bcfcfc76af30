"""Inference on conditions: family of comparisons, and models of trials."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from ..io.errors import AnalysisError
from ..models.bayesian_logistic import BayesModel, bayes_logistic
from ..models.gee_logistic import gee_logistic
from ..models.linear_mixed import mixed_log_time
from ..models.logit_mixed import mixed_logit
from ..models.ordinal_logit import ordinal_logit
from ..models.trial_model import Model, Trials, read_trials
from ..participants.exclusion_rules import CLOCK_COLUMNS
from ..participants.item_statistics import trial_table
from ..participants.study_version import Points, Question
from ..participants.tasks import TASKS
from ..planning.declared_plan import Plan
from ..stats.streams import derive_stream
from .analysis import Study
from .comparisons import Family, Omnibus, compare_family, omnibus
from .contrasts import (
    EXPLORED,
    WITHOUT_ADVICE,
    Contrast,
    all_pairs,
    pair_with_baseline,
    pair_with_control,
    pair_with_unexplained,
)
from .systems import pair_styles

MOST_FOR_PAIRS = 3  # conditions; more are compared with a baseline, because all pairs would be too many
MOST_TRIALS = 100_000  # that the models read; larger studies have the R script
MOST_BAYES_TRIALS = 20_000  # that the Bayesian models read: they take the longest by far
MOST_DRAWN = 100_000_000  # values permuted for one comparison; larger studies take fewer permutations
FEWEST_PERMUTATIONS = 999


@dataclass(frozen=True)
class Inference:
    """Everything that the report infers about conditions.

    Attributes:
        plan: The plan, with the number of permutations that were drawn.
        declared: A plan named the family; otherwise it is exploratory.
        baseline: Condition with which the others are compared; "" if the plan names a family, and if all
            pairs are compared.
        from_unexplained: Conditions with explanations are compared with those without.
        family: The comparisons.
        omnibus: Tests that a measure of the family is alike in all conditions but the ground truth, if there
            are more than two.
        styles: Comparisons of conditions that show the same system, a family of its own.
        models: Model by label of its outcome, refused ones with their reason.
        bayes: Bayesian model by label of its outcome; empty above 20,000 trials.
        too_many: Number of trials of a study too large for models here, otherwise 0.
        has_control: A condition shows no advice, and is compared with those that do.
        mixed: Models of the same outcomes about items like these: crossed participants and items.
    """

    plan: Plan
    declared: bool
    baseline: str
    from_unexplained: bool
    family: Family
    omnibus: list[Omnibus]
    styles: Family
    models: dict[str, Model]
    bayes: dict[str, BayesModel]
    too_many: int = 0
    has_control: bool = False
    mixed: dict[str, Model] = field(default_factory=dict)


def infer(study: Study, plan: Plan | None = None) -> Inference:
    """Compare the conditions of a study.

    The family is that of the plan. Without one, all pairs of up to three conditions, or contrasts of more
    with a baseline, in the main measures; the ground truth is not a system and left out. Studies of other
    tasks than verification and preference compare explanations with none, and advice with none.

    Args:
        study: Analysed study.
        plan: Declared plan; None compares what the study suggests.

    Returns:
        Comparisons, tests and models of the conditions.

    Raises:
        AnalysisError: The plan names a measure or condition that the study lacks.
    """
    estimates = study.retained.estimates
    used = plan or Plan(
        seed=study.options.seed, permutations=_limit_permutations(len(study.people), Plan().permutations)
    )
    names = [condition.name for condition in study.conditions]
    shown = [
        condition.name for condition in study.conditions if condition.advice and not condition.ground_truth
    ]
    control = pair_with_control(study.conditions)
    systems = shown if len(shown) > 1 or control else names
    own = tuple(measure.key for measure in study.task.own_measures(study.version.task))
    measures = [key for key in (*EXPLORED[study.version.task.kind], *own) if estimates.has_value(key)]
    plain = _contrast_with_unexplained(study, measures, used)
    baseline = "" if plain else _choose_baseline(used, systems)
    family = list(used.family) or [
        *(plain or _contrast_conditions(measures, systems, baseline)),
        *((measure, *pair) for measure in measures if measure in WITHOUT_ADVICE for pair in control),
    ]
    # One stream for both families: a comparison that is in both has one p.
    rng = derive_stream(np.random.default_rng(study.options.seed), "comparisons")
    try:
        compared = compare_family(
            estimates,
            family,
            rng=rng,
            permutations=used.permutations,
            margins=used.margins,
            target=used.target,
            level=1 - used.alpha,
        )
        tested = list(dict.fromkeys(key for key, *_ in family)) if len(systems) > 2 else []
        alike = omnibus(estimates, tested, systems)
    except ValueError as error:
        raise AnalysisError(f"the plan does not fit the study: {error}") from None
    within_systems = [(key, *pair) for key in measures for pair in pair_styles(study.conditions)]
    if study.task is not TASKS["verification"]:  # there, the family compares most styles
        within_systems = [comparison for comparison in within_systems if comparison not in family]
    styles = compare_family(
        estimates, within_systems, rng=rng, permutations=used.permutations, level=1 - used.alpha
    )
    trials = len(study.retained.trials)
    few = trials <= MOST_TRIALS
    # A trial that shows two conditions is about neither alone, so no model of trials compares them.
    models, mixed, bayes = _fit_models(study, names, used) if few and not study.task.pairs else ({}, {}, {})
    return Inference(
        plan=used,
        declared=bool(used.family),
        baseline=baseline,
        from_unexplained=bool(plain) and not used.family,
        has_control=bool(control),
        family=compared,
        omnibus=alike,
        styles=styles,
        models=models,
        mixed=mixed,
        bayes=bayes,
        too_many=0 if few else trials,
    )


def _contrast_with_unexplained(study: Study, measures: Sequence[str], plan: Plan) -> list[Contrast]:
    """Compare explanations with none; empty if the study is about systems."""
    if study.task is TASKS["verification"] or study.task.pairs or plan.baseline is not None:
        return []
    return [(measure, *pair) for measure in measures for pair in pair_with_unexplained(study.conditions)]


def _contrast_conditions(measures: Sequence[str], conditions: Sequence[str], baseline: str) -> list[Contrast]:
    if baseline:
        return pair_with_baseline(measures, baseline, conditions)
    return all_pairs(measures, conditions)


def _choose_baseline(plan: Plan, systems: Sequence[str]) -> str:
    """Return the condition to compare the others with, "" for all pairs.

    Without a declared one, the first condition of many.
    """
    if plan.family:
        return ""
    if plan.baseline is None:
        return systems[0] if len(systems) > MOST_FOR_PAIRS else ""
    if plan.baseline not in systems:
        raise AnalysisError(
            f"the baseline {plan.baseline!r} is not one of the compared conditions: {', '.join(systems)}"
        )
    return plan.baseline


def _limit_permutations(people: int, wanted: int) -> int:
    return min(wanted, max(FEWEST_PERMUTATIONS, MOST_DRAWN // max(1, people)))


def _fit_models(
    study: Study, names: Sequence[str], plan: Plan
) -> tuple[dict[str, Model], dict[str, Model], dict[str, BayesModel]]:
    """Fit the models of the trials: marginal, mixed and Bayesian."""
    frame = _build_frame(study)
    models: dict[str, Model] = {}
    mixed: dict[str, Model] = {}
    bayes: dict[str, BayesModel] = {}
    for label, column in study.task.outcomes.items():
        if (trials := _select_trials(frame, column, names)) is not None:
            models[label] = gee_logistic(trials, position=_is_adjusted(trials))
            mixed[label] = mixed_logit(trials, position=_is_adjusted(trials))
            if len(frame) <= MOST_BAYES_TRIALS:
                rng = derive_stream(np.random.default_rng(study.options.seed), "bayes", label)
                bayes[label] = bayes_logistic(trials, rng=rng, rope=plan.rope)
    timed = frame[frame["seconds"] > 0]
    if (trials := _select_trials(timed, "seconds", names)) is not None:
        mixed["Completion time"] = mixed_log_time(trials, position=trials.position is not None)
    for question in study.version.item_questionnaire:
        if (
            isinstance(question.scale, Points)
            and (trials := _select_trials(frame, question.key, names)) is not None
        ):
            label = name_outcome(question)
            models[label] = ordinal_logit(trials, position=_is_adjusted(trials))
            mixed[label] = mixed_logit(trials, position=_is_adjusted(trials))
    return models, mixed, bayes


def name_outcome(question: Question) -> str:
    """Return the name of a question in tables of models."""
    return question.role.replace("_", " ").capitalize() if question.role else question.text


def _is_adjusted(trials: Trials) -> bool:
    """Return if models adjust for the position of a trial.

    Within participants, conditions come at positions of their own.
    """
    return trials.repeated and trials.position is not None


def _build_frame(study: Study) -> pd.DataFrame:
    """Build a table of retained trials for the models, with the answers."""
    trials = study.retained.trials
    rating = study.version.question("correctness_rating")
    table = trial_table(
        trials,
        [()] * len(trials),
        clock=CLOCK_COLUMNS[study.clock] if study.clock else None,
        rating=rating.key if rating else None,
    )
    answers = [question.key for question in study.version.item_questionnaire]
    own = trials[[key for key in answers if key not in table.columns]]
    return pd.concat([table, own], axis=1).assign(**study.task.values(trials))


def _select_trials(frame: pd.DataFrame, outcome: str, names: Sequence[str]) -> Trials | None:
    """Return the trials with the outcome, None if there is none at all."""
    answered = frame[frame[outcome].notna()]
    if answered.empty:
        return None
    shown = [name for name in names if name in set(answered["condition"])]
    return read_trials(answered, outcome, conditions=shown)
