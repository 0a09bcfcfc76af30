"""Form fields that need text which a reader can see."""

from typing import Any

from django import forms

from foundation.blank_texts import is_blank


class FilledField(forms.CharField):
    """Text; spaces and zero-width characters alone count as no text."""

    def to_python(self, value: Any) -> str:
        """Return the text, empty if it shows nothing."""
        text = str(super().to_python(value))
        return "" if is_blank(text) else text
