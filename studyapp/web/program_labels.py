"""Labels for the steps of a program that participants understand."""

from predictions.module_words import module_words
from predictions.program_steps import Step


def step_words(step: Step) -> str:
    """Return the label of a step, or its module's name if it has none."""
    return module_words(step.module, step.argument)
