"""Figures of reports are drawn in one form, because the forms for papers take most of a test's time."""

import pytest


@pytest.fixture(autouse=True)
def one_form(request, monkeypatch):
    """Draws SVG alone, but for tests marked ``paper_figures``."""
    if "paper_figures" not in request.keywords:
        monkeypatch.setattr("analysis.report.figures.FORMS", ("svg",))
