"""Functions that computed the tables and figures of the report.

By name of the table or figure, without its running number. Tables that only repeat an input are not listed.
"""

import re

SOURCES = {
    "participant-flow": "analysis.participants.attrition.participant_flow",
    "exclusion_rules": "analysis.participants.exclusion_rules.apply_rules",
    "exclusions_by_condition": "analysis.participants.exclusion_rules.apply_rules",
    "exclusion_overlap": "analysis.participants.exclusion_rules.apply_rules",
    "measures": "analysis.participants.estimates.estimate",
    "measures_without_exclusions": "analysis.participants.estimates.estimate",
    "participant_measures": "analysis.participants.estimates.estimate",
    "measures_pooled": "analysis.participants.trial_grid.pooled_sums",
    "agreement-by-condition": "analysis.participants.estimates.estimate",
    "fraction-correct-by-condition": "analysis.participants.estimates.estimate",
    "fp-by-condition": "analysis.participants.estimates.estimate",
    "over-estimation-by-condition": "analysis.participants.estimates.estimate",
    "time-by-certainty": "analysis.participants.time_by_certainty.time_at_certainty",
    "answers-by-condition": "analysis.report.distribution_figures.level_shares",
    "measures-as-boxes": "analysis.participants.estimates.estimate",
    "times-by-condition": "analysis.participants.trial_grid.build_grids",
    "differences": "analysis.study.comparisons.compare_family",
    "equivalence": "analysis.stats.equivalence.equivalence",
    "models": "analysis.study.inference.infer",
    "bayes": "analysis.models.bayesian_logistic.bayes_logistic",
    "learning": "analysis.participants.learning_curves.learning",
    "calibration": "analysis.participants.calibration.calibration",
    "agreement": "analysis.participants.krippendorff.agreements",
    "items": "analysis.participants.item_statistics.item_measures",
    "trials": "analysis.participants.item_statistics.trial_table",
    "rank_table": "analysis.stats.rank_agreement.rank_relation",
    "correlations": "analysis.stats.correlations.correlate",
    "correlations_pearson": "analysis.stats.correlations.correlate",
    "correlations_spearman": "analysis.stats.correlations.correlate",
    "correlations_kendall": "analysis.stats.correlations.correlate",
    "fp-standard-scores": "analysis.study.human_vs_model.relate",
    "fp-coupling-scores": "analysis.study.human_vs_model.relate",
    "agreement-standard-scores": "analysis.study.human_vs_model.relate",
    "agreement-coupling-scores": "analysis.study.human_vs_model.relate",
    "multiverse": "analysis.study.multiverse.multiverse",
    "multiverse_stability": "analysis.study.multiverse.multiverse",
    "power": "analysis.planning.power.power_curve",
    "power-curve": "analysis.planning.power.power_curve",
    "left_out": "analysis.study.leave_one_out.leave_one_out",
    "pair_frequencies": "analysis.visual_bias.analyse",
    "pair-frequencies": "analysis.visual_bias.analyse",
    "parts": "analysis.visual_bias.analyse",
    "systems": "analysis.visual_bias.score_system",
    "system_accuracy": "analysis.visual_bias.score_system",
    "accuracy-by-part": "analysis.visual_bias.score_system",
    "alignment": "analysis.counterfactuals.alignment.alignments",
    "answers": "analysis.commands.alignment.answers_table",
    "counterfactuals": "analysis.commands.alignment.drop_tests",
    "generalisation": "analysis.commands.alignment.drop_tests",
}
INPUTS = frozenset({"participant_flow", "scores", "versions", "inputs"})


def source_of(name: str) -> str:
    """Return the function with its module; "" for a table of inputs.

    Examples:
        >>> source_of("correlations_pearson_2")
        'analysis.stats.correlations.correlate'
    """
    return SOURCES.get(re.sub(r"_\d+$", "", name), "")
