"""Measures of participants, from the bundle of a study to estimates."""

from typing import TYPE_CHECKING

from ..import_on_use import import_on_use

if TYPE_CHECKING:
    from .allocation import Allocation, allocate
    from .attrition import (
        AttritionTest,
        ParticipantFlow,
        completion_test,
        compute_excluded_shares,
        exclusion_test,
        participant_flow,
        position_test,
    )
    from .bundle import Bundle, load_bundle, load_scores
    from .confidence_calibration import Calibration, calibration
    from .estimates import Estimate, Estimates, estimate
    from .exclusion_rules import CLOCK_COLUMNS, Exclusions, apply_rules, parse_rules
    from .item_statistics import ItemValue, item_measures, trial_table
    from .krippendorff import (
        Agreement,
        Alpha,
        agreements,
        choose_metric,
        krippendorff_alpha,
        pair_agreement,
    )
    from .learning_curves import Learning, arrange_positions, learning
    from .means_of_participants import ParticipantMean, ParticipantMeans, participant_means
    from .measures import MEASURES, Measure
    from .tasks import TASKS, Task, find_measure
    from .time_by_certainty import TimeAtCertainty, time_at_certainty
    from .trial_grid import Grid, build_grids
else:
    __getattr__ = import_on_use(
        __name__,
        (
            "measures",
            "estimates",
            "exclusion_rules",
            "krippendorff",
            "tasks",
            "trial_grid",
            "confidence_calibration",
            "means_of_participants",
            "time_by_certainty",
            "allocation",
            "attrition",
            "item_statistics",
            "learning_curves",
            "bundle",
        ),
    )

__all__ = [
    "CLOCK_COLUMNS",
    "MEASURES",
    "TASKS",
    "Agreement",
    "Allocation",
    "Alpha",
    "AttritionTest",
    "Bundle",
    "Calibration",
    "Estimate",
    "Estimates",
    "Exclusions",
    "Grid",
    "ItemValue",
    "Learning",
    "Measure",
    "ParticipantFlow",
    "ParticipantMean",
    "ParticipantMeans",
    "Task",
    "TimeAtCertainty",
    "agreements",
    "allocate",
    "apply_rules",
    "arrange_positions",
    "build_grids",
    "calibration",
    "choose_metric",
    "completion_test",
    "compute_excluded_shares",
    "estimate",
    "exclusion_test",
    "find_measure",
    "item_measures",
    "krippendorff_alpha",
    "learning",
    "load_bundle",
    "load_scores",
    "pair_agreement",
    "parse_rules",
    "participant_flow",
    "participant_means",
    "position_test",
    "time_at_certainty",
    "trial_table",
]
