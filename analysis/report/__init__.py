"""The report: sections, tables and figures on one page."""

from typing import TYPE_CHECKING

from .page import Page, write_page

if TYPE_CHECKING:
    from .build import build_report

__all__ = ["Page", "build_report", "write_page"]


def __getattr__(name: str) -> object:
    """Import `build_report` on first use.

    The site needs `page` alone, without matplotlib and scipy.stats.
    """
    if name == "build_report":
        from .build import build_report

        return build_report
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
