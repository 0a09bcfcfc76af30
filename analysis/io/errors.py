"""Errors in the input of the analysis.

ValueError
└── AnalysisError           the analysis cannot go on; the message is one sentence fit for a person
    └── InputError          a file is wrong; names the file and, if known, line and field
"""

from pathlib import Path

from pydantic import ValidationError

NO_FILE = "there is no such file"
# Pydantic's own messages of these errors speak of inputs, not of fields.
PLAIN = {"missing": "is missing", "extra_forbidden": "there is no such field"}


class AnalysisError(ValueError):
    """The analysis cannot go on."""


class InputError(AnalysisError):
    """A file is missing or malformed.

    Attributes:
        path: The file, or a folder.
        problem: The end of the message, after the colon.
        where: Line or row, if known.
        field: Column or key, if known.
    """

    def __init__(self, path: Path | str, problem: str, *, where: str = "", field: str = "") -> None:
        self.path, self.problem, self.where, self.field = Path(path), problem, where, field
        parts = [str(path), where, f"column {field}" if where and field else field]
        super().__init__(": ".join([", ".join(part for part in parts if part), problem]))


def describe_os_error(error: OSError) -> str:
    """Return why a file cannot be read, without its path."""
    return NO_FILE if isinstance(error, FileNotFoundError) else error.strerror or str(error)


class Malformed(ValueError):
    """A record lacks something or contradicts itself; readers add its place."""

    def __init__(self, problem: str, field: str) -> None:
        self.problem, self.field = problem, field
        super().__init__(problem)


def find_first_problem(error: ValidationError) -> tuple[str, str]:
    """Return dotted path and message of pydantic's first problem."""
    problem = error.errors()[0]
    message = PLAIN.get(problem["type"], problem["msg"]).removeprefix("Value error, ")
    return ".".join(str(part) for part in problem["loc"]), message
