"""Errors in a program, with line and column.

AnalysisError
└── ProgramError    a program cannot be read or does not fit together; names line and column
"""

from ..io.errors import AnalysisError


class ProgramError(AnalysisError):
    """A program cannot be read, or its modules do not fit together.

    The error prints the line that is wrong with a caret under the column.

    Attributes:
        message: One sentence.
        column: Column in which it went wrong, from 1.
        text: The text that was read.
        line: Line in which it went wrong, from 1.
    """

    def __init__(self, message: str, column: int, text: str, line: int = 1) -> None:
        self.message, self.column, self.text, self.line = message, column, text, line
        super().__init__(message, column, text, line)

    @classmethod
    def from_offset(cls, message: str, text: str, offset: int) -> "ProgramError":
        """Build the error at a code point of a text, perhaps of several lines.

        Args:
            message: One sentence.
            text: The text that was read, perhaps of several lines.
            offset: Code point at which it went wrong, from 0.

        Returns:
            The error, with line and column.
        """
        start = text.rfind("\n", 0, offset) + 1
        return cls(message, offset - start + 1, text, text.count("\n", 0, offset) + 1)

    @property
    def caret(self) -> str:
        """The line that is wrong, and below it a caret under the column."""
        lines = self.text.split("\n")
        line = lines[self.line - 1] if self.line <= len(lines) else ""
        # A tab before the caret takes the room that it takes in the line above.
        lead = "".join("\t" if letter == "\t" else " " for letter in line[: self.column - 1])
        return f"{line}\n{lead}^"

    def __str__(self) -> str:
        line = f"line {self.line}, " if "\n" in self.text else ""
        return f"{line}column {self.column}: {self.message}\n{self.caret}"
