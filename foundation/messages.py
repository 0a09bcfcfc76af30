"""Sentences about what is wrong, which can be said in another language where they are shown.

Pure: no Django. A sentence is English text, as commands show it, that keeps the form and the values it was
made of; the catalogue of a language has the form.
"""

from collections.abc import Callable
from typing import Any


class Sentence(str):
    """An English sentence, its form with ``%(name)s`` or ``%(name)r`` for each value, and the values."""

    form: str
    values: dict[str, Any]


def say(form: str, **values: Any) -> Sentence:
    """The sentence of a form. Values that are sentences are translated with it."""
    made = Sentence(form % values if values else form)
    made.form, made.values = form, values
    return made


def said(message: str, translate: Callable[[str], str]) -> str:
    """A message in the language of a catalogue; one that is no sentence of ours stays as it is."""
    if not isinstance(message, Sentence):
        return message
    form = translate(message.form)
    values = {
        name: said(value, translate) if isinstance(value, str) else value
        for name, value in message.values.items()
    }
    return form % values if values else form


def message_of(error: Exception) -> str:
    """What an error says, as the sentence that it was raised with, where it was."""
    first = error.args[0] if error.args else None
    return first if isinstance(first, Sentence) else str(error)
