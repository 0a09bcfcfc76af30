"""A change of one stretch of a text, which can be taken back."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Edit:
    """Replacement of `old` at code point `start` by `new`.

    Everything else stays as it is, white space included.

    Attributes:
        start: Code point, from 0.
        old: Text before the edit.
        new: Text after it.

    Examples:
        >>> edit = Edit(9, "older", "younger")
        >>> edit.apply("Which is older, A or B?")
        'Which is younger, A or B?'
        >>> edit.undo("Which is younger, A or B?")
        'Which is older, A or B?'
    """

    start: int
    old: str
    new: str

    def apply(self, text: str) -> str:
        """Change the text.

        Args:
            text: Text before the edit.

        Returns:
            The text with `new` in place of `old`.

        Raises:
            ValueError: The text does not hold `old` at `start`.
        """
        return _replace_text(text, self.start, self.old, self.new)

    def undo(self, text: str) -> str:
        """Restore the text.

        Args:
            text: Text after the edit.

        Returns:
            The text with `old` in place of `new`.

        Raises:
            ValueError: The text does not hold `new` at `start`.
        """
        return _replace_text(text, self.start, self.new, self.old)


def _replace_text(text: str, start: int, old: str, new: str) -> str:
    end = start + len(old)
    if not 0 <= start <= len(text) or text[start:end] != old:
        raise ValueError(f"the text does not hold {old!r} at character {start}")
    return text[:start] + new + text[end:]
