"""Reports without figures and posteriors, for tests of text and tables.

These two take most of the time.
"""

import pytest

from analysis.planning.declared_plan import Plan
from analysis.report.build import build_report
from analysis.report.page import Figure, Page
from analysis.study import inference
from analysis.study.analysis import Study


def build_words(study: Study, plan: Plan | None = None) -> Page:
    """Build a report whose figures are empty and which has no Bayesian models."""
    with pytest.MonkeyPatch.context() as patch:
        for module in ("plots.intervals", "plots.distributions"):  # where it is called from
            patch.setattr(f"analysis.report.{module}.render_figure", _empty)
        patch.setattr(inference, "MOST_BAYES_TRIALS", 0)
        return build_report(study, plan)


def _empty(canvas: object, name: str, caption: str, alternative: str, *, half: bool = False) -> Figure:
    return Figure(name, caption, alternative, "<svg></svg>", half)
