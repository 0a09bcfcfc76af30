"""Figures of reports are drawn in one form, because the forms for papers take most of a test's time."""

import pytest

from analysis.report import page
from analysis.report.plots import intervals as figures


@pytest.fixture(autouse=True)
def every_form(request, monkeypatch):
    """Draws SVG, PDF and PNG in tests marked ``paper_figures``; `tests/conftest.py` leaves SVG alone."""
    if "paper_figures" in request.keywords:
        monkeypatch.setattr(figures, "FORMS", page.ALL_FORMS)
