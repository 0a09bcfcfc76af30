"""Forms of a pre-registration: their headings, and the parts below each.

The parts are those of `analysis.planning.preregistration`.
"""

from typing import NamedTuple


class Form(NamedTuple):
    """A form: its title, and the parts below each heading."""

    title: str
    sections: tuple[tuple[str, tuple[str, ...]], ...]


FORMS: dict[str, Form] = {
    "touchstone": Form(
        "Touchstone",
        (
            ("", ("identity",)),
            ("Hypotheses", ("hypotheses",)),
            ("Design", ("design",)),
            ("Questions to participants", ("questions",)),
            ("Correctness of the answers", ("correctness",)),
            ("Sample size and stopping", ("sample",)),
            ("Exclusions", ("exclusions",)),
            ("Measures", ("measures",)),
            ("Analysis", ("analysis",)),
            ("Decisions before the launch", ("decisions",)),
            ("Left open", ("left_open",)),
        ),
    ),
    # The numbered questions of aspredicted.org, by their short names.
    "aspredicted": Form(
        "AsPredicted",
        (
            ("1. Data collection", ("collected",)),
            ("2. Hypothesis", ("hypotheses",)),
            ("3. Dependent variables", ("questions", "measures")),
            ("4. Conditions", ("design",)),
            ("5. Analyses", ("analysis",)),
            ("6. Outliers and exclusions", ("exclusions",)),
            ("7. Sample size", ("sample",)),
            ("8. Other", ("correctness", "decisions", "left_open")),
            ("9. Name", ("title", "identity")),
            ("10. Type of study", ("kind",)),
            ("11. Data source", ("source",)),
        ),
    ),
    # The headings of the preregistration template of osf.io.
    "osf": Form(
        "OSF",
        (
            ("Study information", ("title", "identity")),
            ("Hypotheses", ("hypotheses",)),
            ("Study type", ("kind",)),
            ("Blinding", ("blinding",)),
            ("Study design and randomization", ("design",)),
            ("Existing data", ("collected",)),
            ("Data collection procedures", ("source", "questions")),
            ("Sample size and stopping rule", ("sample",)),
            ("Manipulated variables", ("conditions",)),
            ("Measured variables and indices", ("measures", "correctness")),
            ("Statistical models and inference criteria", ("analysis",)),
            ("Data exclusion and missing data", ("exclusions",)),
            ("Other", ("decisions", "left_open")),
        ),
    ),
}
