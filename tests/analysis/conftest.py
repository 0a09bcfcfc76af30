"""Draw every form of a figure only in the tests that need them.

The forms for papers take most of a test's time.
"""

import pytest

from analysis.report import page
from analysis.report.plots import intervals as figures


@pytest.fixture(autouse=True)
def every_form(request, monkeypatch):
    """Draw SVG, PDF and PNG in tests marked ``paper_figures``.

    For all others `tests/conftest.py` leaves only SVG.
    """
    if "paper_figures" in request.keywords:
        monkeypatch.setattr(figures, "FORMS", page.ALL_FORMS)
