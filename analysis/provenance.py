"""Which function computed the numbers of a table or figure of the report.

By name of the table or figure, without its running number. What only repeats an input is not listed.
"""

import re

SOURCES = {
    "participant-flow": "analysis.attrition.participant_flow",
    "exclusion_rules": "analysis.exclusions.apply_rules",
    "exclusions_by_condition": "analysis.exclusions.apply_rules",
    "exclusion_overlap": "analysis.exclusions.apply_rules",
    "measures": "analysis.estimates.estimate",
    "measures_without_exclusions": "analysis.estimates.estimate",
    "participant_measures": "analysis.estimates.estimate",
    "measures_pooled": "analysis.grid.pooled_sums",
    "agreement-by-condition": "analysis.estimates.estimate",
    "fraction-correct-by-condition": "analysis.estimates.estimate",
    "fp-by-condition": "analysis.estimates.estimate",
    "over-estimation-by-condition": "analysis.estimates.estimate",
    "time-by-certainty": "analysis.certainty.time_at_certainty",
    "answers-by-condition": "analysis.distributions.level_shares",
    "measures-as-boxes": "analysis.estimates.estimate",
    "times-by-condition": "analysis.grid.build_grids",
    "differences": "analysis.differences.compare_family",
    "equivalence": "analysis.equivalence.equivalence",
    "models": "analysis.inference.infer",
    "bayes": "analysis.bayes.bayes_logistic",
    "learning": "analysis.learning.learning",
    "calibration": "analysis.calibration.calibration",
    "agreement": "analysis.agreement.agreements",
    "items": "analysis.items.item_measures",
    "trials": "analysis.items.trial_table",
    "rank_table": "analysis.ranks.rank_relation",
    "correlations": "analysis.correlations.correlate",
    "correlations_pearson": "analysis.correlations.correlate",
    "correlations_spearman": "analysis.correlations.correlate",
    "correlations_kendall": "analysis.correlations.correlate",
    "fp-standard-scores": "analysis.relations.relate",
    "fp-coupling-scores": "analysis.relations.relate",
    "agreement-standard-scores": "analysis.relations.relate",
    "agreement-coupling-scores": "analysis.relations.relate",
    "multiverse": "analysis.multiverse.multiverse",
    "multiverse_stability": "analysis.multiverse.multiverse",
    "power": "analysis.power.power_curve",
    "power-curve": "analysis.power.power_curve",
    "left_out": "analysis.robustness.leave_one_out",
    "pair_frequencies": "analysis.visual_bias.analyse",
    "pair-frequencies": "analysis.visual_bias.analyse",
    "parts": "analysis.visual_bias.analyse",
    "systems": "analysis.visual_bias.score_system",
    "system_accuracy": "analysis.visual_bias.score_system",
    "accuracy-by-part": "analysis.visual_bias.score_system",
    "alignment": "analysis.alignment.alignments",
    "answers": "analysis.alignment_report.answers_table",
    "counterfactuals": "analysis.alignment_report.drop_tests",
    "generalisation": "analysis.alignment_report.drop_tests",
}
INPUTS = frozenset({"participant_flow", "scores", "versions", "inputs"})


def source_of(name: str) -> str:
    """The function, with its module; "" for a table of inputs.

    >>> source_of("correlations_pearson_2")
    'analysis.correlations.correlate'
    """
    return SOURCES.get(re.sub(r"_\d+$", "", name), "")
