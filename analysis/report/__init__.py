"""The report: sections, tables and figures on one page."""

from typing import TYPE_CHECKING

from ..import_on_use import import_on_use
from .page import Page, write_page

if TYPE_CHECKING:
    from .build import build_report
    from .plots.flow_diagram import draw_flow_svg
else:  # the site needs `page` alone, without matplotlib and scipy.stats
    __getattr__ = import_on_use(__name__, ("build", "plots.flow_diagram"))

__all__ = ["Page", "build_report", "draw_flow_svg", "write_page"]
