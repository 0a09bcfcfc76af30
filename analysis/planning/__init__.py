"""Planning of studies: power analysis, sample size, pre-registration."""

from .declared_plan import Plan, load_plan
from .power import (
    Assumed,
    Pilot,
    PilotValues,
    Power,
    SmallestDesign,
    fitted,
    pilot,
    pilot_values,
    power_curve,
    smallest_design,
)
from .preregistration import FrozenVersion, load_frozen, preregistration
from .sample_size import Design, against_first, assumed, design_sentence, plan_size

__all__ = [
    "Assumed",
    "Design",
    "FrozenVersion",
    "Pilot",
    "PilotValues",
    "Plan",
    "Power",
    "SmallestDesign",
    "against_first",
    "assumed",
    "design_sentence",
    "fitted",
    "load_frozen",
    "load_plan",
    "pilot",
    "pilot_values",
    "plan_size",
    "power_curve",
    "preregistration",
    "smallest_design",
]
