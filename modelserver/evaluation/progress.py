"""The progress bar of the commands."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import Progress


@contextmanager
def progress_bar(title: str, total: int | None) -> Iterator[Callable[[int], None]]:
    """Show a bar on standard error; yield the function that moves it on."""
    with Progress(console=Console(stderr=True)) as bar:
        task = bar.add_task(title, total=total)
        yield lambda steps: bar.advance(task, steps)
