"""The report: sections, tables and figures on one page."""

from .build import build_report
from .page import Page, write_page

__all__ = ["Page", "build_report", "write_page"]
