"""Readers of input files, with errors that name file, line and column."""

from typing import TYPE_CHECKING

from ..import_on_use import import_on_use

if TYPE_CHECKING:
    from .errors import AnalysisError, InputError
    from .schuff2020_release import Release, read_release
    from .table_columns import Column
    from .tabular_files import Table, read_table
    from .whole_files import read_json, read_lines
else:
    __getattr__ = import_on_use(
        __name__, ("errors", "whole_files", "table_columns", "tabular_files", "schuff2020_release")
    )

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
