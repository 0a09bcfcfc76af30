"""Measures of participants, from the bundle of a study to estimates."""

from .allocation import Allocation, allocate
from .attrition import (
    AttritionTest,
    ParticipantFlow,
    completion_test,
    exclusion_test,
    participant_flow,
    position_test,
)
from .bundle import Bundle, load_bundle, load_scores
from .calibration import Calibration, calibration
from .estimates import Estimate, Estimates, estimate
from .exclusion_rules import Exclusions, apply_rules, parse_rules
from .item_statistics import ItemValue, item_measures, trial_table
from .krippendorff import Agreement, Alpha, agreements, krippendorff_alpha, pair_agreement
from .learning_curves import Learning, learning
from .measures import MEASURES, Measure
from .participant_means import ParticipantMean, ParticipantMeans, participant_means
from .tasks import TASKS, Task, find_measure
from .time_by_certainty import TimeAtCertainty, time_at_certainty
from .trial_grid import Grid, build_grids

__all__ = [
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
    "build_grids",
    "calibration",
    "completion_test",
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
