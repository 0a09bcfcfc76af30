"""Planning of studies: power analysis, sample size, pre-registration."""

from .declared_plan import Plan, load_plan
from .frozen_version import FrozenVersion, load_frozen
from .populations import Assumed, Pilot, PilotValues, fit_normal_population, pilot, pilot_values
from .power import Power, SmallestDesign, power_curve, smallest_design
from .preregistration import preregistration
from .sample_size import Design, assume_population, design_sentence, pair_with_first, plan_size
from .systems_needed import Scenario, SystemsNeeded, estimate_noise, plan_systems

__all__ = [
    "Assumed",
    "Design",
    "FrozenVersion",
    "Pilot",
    "PilotValues",
    "Plan",
    "Power",
    "Scenario",
    "SmallestDesign",
    "SystemsNeeded",
    "assume_population",
    "design_sentence",
    "estimate_noise",
    "fit_normal_population",
    "load_frozen",
    "load_plan",
    "pair_with_first",
    "pilot",
    "pilot_values",
    "plan_size",
    "plan_systems",
    "power_curve",
    "preregistration",
    "smallest_design",
]
