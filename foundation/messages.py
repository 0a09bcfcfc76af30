"""Error messages in English that a page can show in another language.

Pure: no Django. A message is English text, as commands print it, that keeps
the template and the values it was made from. Translation catalogues contain
the template.
"""

from collections.abc import Callable, Mapping
from typing import Any

AT_FIELD = "%(field)s: %(problem)s"


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


def prefix_field(field: str, problem: str) -> Message:
    """Return a message about a field, which no language changes."""
    return say(AT_FIELD, field=field, problem=problem)


def value_error(template: str, **values: Any) -> ValueError:
    """Return the error of a value: a template, filled."""
    return ValueError(say(template, **values))


def field_error(field: str, template: str, **values: Any) -> ValueError:
    """Return the error of a field: its problem is a template with values."""
    return ValueError(prefix_field(field, say(template, **values)))


def split_field(message: Message) -> tuple[str, str]:
    """Return the field and the problem of a message; no field if none."""
    if message.template != AT_FIELD:
        return "", message
    return message.values["field"], message.values["problem"]


def map_message(message: str, change: Callable[[str], str]) -> str:
    """Apply a function to a text, or to the values of a message."""
    if not isinstance(message, Message):
        return change(message)
    values = {
        name: map_message(value, change) if isinstance(value, str) else value
        for name, value in message.values.items()
    }
    return say(message.template, **values)


def dump_message(message: str) -> dict[str, Any] | None:
    """Return template and values of a message as JSON; None of other text."""
    if not isinstance(message, Message):
        return None
    return {"template": message.template, "values": {k: _dump_value(v) for k, v in message.values.items()}}


def load_message(stored: Mapping[str, Any] | None, text: str) -> str:
    """Return the message that was stored with its text.

    Args:
        stored: The result of `dump_message`.
        text: The English text, which stands in for a message that was not stored.
    """
    if stored is None:
        return text
    values = {
        name: load_message(value, "") if isinstance(value, Mapping) else value
        for name, value in stored["values"].items()
    }
    message = Message(text)
    message.template, message.values = stored["template"], values
    return message


def _dump_value(value: Any) -> Any:
    if isinstance(value, Message):
        return dump_message(value)
    return value if isinstance(value, str | int | float) else str(value)


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


def extract_message(error: Exception) -> str:
    """Return the text of an error, as the `Message` it was raised with if any."""
    first = error.args[0] if error.args else None
    return first if isinstance(first, Message) else str(error)
