"""A progress bar and messages on standard error; a log file gets no bar."""

import time
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskProgressColumn,
    TextColumn,
    TimeRemainingColumn,
)

BAR_AFTER_SECONDS = 2.0  # a shorter job needs no bar


class Bar:
    """A bar that appears in terminals only, after ``BAR_AFTER_SECONDS``."""

    def __init__(self, description: str, total: int | None = None, *, counted: bool = True) -> None:
        self._console = Console(stderr=True)
        amount = MofNCompleteColumn() if counted else TaskProgressColumn()
        self._progress = Progress(
            TextColumn("{task.description}"), BarColumn(), amount, TimeRemainingColumn(),
            console=self._console, transient=True,
        )  # fmt: skip
        self._task = self._progress.add_task(description, total=total)
        self._shown = False
        self._begun = time.monotonic()

    def at(self, completed: int, *, total: int | None = None) -> None:
        """Show how much is done, and the total if it has changed."""
        self._progress.update(self._task, completed=completed, total=total)
        if self._console.is_terminal and time.monotonic() - self._begun > BAR_AFTER_SECONDS:
            self._progress.start()
            self._shown = True

    def write(self, message: str) -> None:
        """Print a message above the bar."""
        self._progress.console.print(message, markup=False, highlight=False, soft_wrap=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._shown:  # stopping a bar that never began prints an empty line
            self._progress.stop()
