"""Touchstone: statistics and reports on whether explanations help people."""

from typing import TYPE_CHECKING

from .installation import import_analysis

if TYPE_CHECKING:
    __version__: str
else:

    def __getattr__(name: str) -> str:
        if name == "__version__":  # the analysis has it, for a checkout without an installation
            return import_analysis().__version__
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
