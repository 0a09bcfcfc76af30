"""Error messages in English that a page can show in another language.

Pure: no Django. A message is English text, as commands print it, that keeps
the template and the values it was made from. Translation catalogues contain
the template.
"""

from collections.abc import Callable
from typing import Any


class Message(str):
    """An English text with its template and the values that fill it.

    The template has ``%(name)s`` or ``%(name)r`` for each value.
    """

    template: str
    values: dict[str, Any]


def say(template: str, **values: Any) -> Message:
    """Fill a template. Values that are messages are translated with it."""
    message = Message(template % values if values else template)
    message.template, message.values = template, values
    return message


def translate_message(message: str, translate: Callable[[str], str]) -> str:
    """Translate a message with a catalogue; return any other text as it is."""
    if not isinstance(message, Message):
        return message
    template = translate(message.template)
    values = {
        name: translate_message(value, translate) if isinstance(value, str) else value
        for name, value in message.values.items()
    }
    return template % values if values else template


def message_of(error: Exception) -> str:
    """Return the text of an error, as the `Message` it was raised with if any."""
    first = error.args[0] if error.args else None
    return first if isinstance(first, Message) else str(error)
