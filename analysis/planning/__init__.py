"""Planning of studies: power analysis, sample size, pre-registration."""

from .declared_plan import Plan, load_plan
from .frozen_version import FrozenVersion, load_frozen
from .populations import Assumed, Pilot, PilotValues, fit_normal_population, pilot, pilot_values
from .power import Power, SmallestDesign, power_curve, smallest_design
from .preregistration import preregistration
from .sample_size import Design, assume_population, design_sentence, pair_with_first, plan_size

__all__ = [
    "Assumed",
    "Design",
    "FrozenVersion",
    "Pilot",
    "PilotValues",
    "Plan",
    "Power",
    "SmallestDesign",
    "assume_population",
    "design_sentence",
    "fit_normal_population",
    "load_frozen",
    "load_plan",
    "pair_with_first",
    "pilot",
    "pilot_values",
    "plan_size",
    "power_curve",
    "preregistration",
    "smallest_design",
]
