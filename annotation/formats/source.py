"""A file to read, with what else its reader needs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from annotation.content.schemas import Kind
from annotation.formats.images import ImageFolder
from foundation.imports.findings import Findings


@dataclass(frozen=True)
class Source:
    """A file to read, with its images, programs, and NLVR2 sentences.

    ``task`` and ``kind`` are those of a project with a plain task, which its items get; with ``plain`` and
    without a task, a file that could have programs is read as a plain task with the labels of the file.
    ``path`` is a folder for the formats of `READ_FOLDERS`.
    """

    path: Path
    images: ImageFolder | None = None
    programs: Path | None = None
    examples: Sequence[Path] = ()
    task: str = ""
    kind: Kind = "spans"
    plain: bool = False
    findings: Findings = field(default_factory=Findings)
    on_progress: Callable[[int], None] | None = None
