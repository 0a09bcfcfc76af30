"""Functions that computed the tables and figures of the report.

By name of the table or figure, without its running number. Tables that only repeat an input are not listed.
"""

import re

_NAMES = {  # function to the tables and figures that it computes
    "participants.attrition.participant_flow": "participant-flow",
    "participants.sample.describe_sample": "sample",
    "participants.exclusion_rules.apply_rules": (
        "exclusion_rules exclusions_by_condition exclusion_overlap excluded_participants"
    ),
    "participants.estimates.estimate": (
        "measures participant_measures agreement-by-condition helpfulness-by-condition "
        "fraction-correct-by-condition fp-by-condition over-estimation-by-condition measures-as-boxes "
        "over-reliance-by-condition under-reliance-by-condition final-accuracy-by-condition "
        "complementarity-by-condition advice-agreement-by-condition switch-fraction-by-condition "
        "confidence-change-by-condition"
    ),
    "participants.time_by_certainty.time_at_certainty": "time-by-certainty",
    "report.plots.distributions.compute_level_shares": "answers-by-condition",
    "participants.trial_grid.build_grids": "times-by-condition",
    "study.comparisons.compare_family": (
        "differences differences_these_items styles styles_these_items differences-forest styles-forest"
    ),
    "study.comparisons.omnibus": "omnibus",
    "stats.equivalence.equivalence": "equivalence",
    "planning.power.compute_smallest_effect": "not_found",
    "planning.systems_needed.plan_systems": "systems_needed",
    "study.inference.infer": "models model_spreads",
    "models.bayesian_logistic.bayes_logistic": "bayes",
    "participants.learning_curves.learning": "learning",
    "participants.confidence_calibration.calibration": "calibration",
    "participants.krippendorff.agreements": "agreement",
    "participants.item_statistics.item_measures": "items",
    "participants.item_statistics.trial_table": "trials",
    "stats.rank_agreement.rank_relation": "rank_table",
    "stats.correlations.correlate": (
        "correlations correlations_pearson correlations_spearman correlations_kendall"
    ),
    "study.human_vs_model.relate": (
        "fp-standard-scores fp-coupling-scores agreement-standard-scores agreement-coupling-scores "
        "people-against-score"
    ),
    "study.multiverse.multiverse": "multiverse multiverse_stability",
    "planning.power.power_curve": "power power-curve",
    "study.leave_one_out.leave_one_out": "left_out",
    "visual_bias.analyse": "pair_frequencies pair-frequencies parts",
    "visual_bias.score_system": "systems system_accuracy accuracy-by-part",
    "counterfactuals.alignment.alignments": "alignment",
    "commands.alignment.tabulate_answers": "answers",
    "commands.alignment.compute_drop_p_values": "counterfactuals generalisation",
}
SOURCES = {name: f"analysis.{function}" for function, names in _NAMES.items() for name in names.split()}


def source_of(name: str) -> str:
    """Return the function with its module; "" for a table of inputs.

    Examples:
        >>> source_of("correlations_pearson_2")
        'analysis.stats.correlations.correlate'
    """
    return SOURCES.get(re.sub(r"_\d+$", "", name), "")
