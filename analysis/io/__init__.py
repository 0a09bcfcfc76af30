"""Readers of input files, with errors that name file, line and column.

The names are imported on first use: commands need only the errors to start,
and pandas and pyarrow take half a second.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .errors import AnalysisError, InputError
    from .schuff2020_release import Release, read_release
    from .tabular_files import Column, Table, read_table
    from .whole_files import read_json, read_lines

__all__ = [
    "AnalysisError",
    "Column",
    "InputError",
    "Release",
    "Table",
    "read_json",
    "read_lines",
    "read_release",
    "read_table",
]


def __getattr__(name: str) -> Any:
    if name in __all__:
        for module in map(import_module, (f"{__name__}.{part}" for part in _MODULES)):
            if name in vars(module):
                return vars(module)[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


_MODULES = ("errors", "whole_files", "tabular_files", "schuff2020_release")
