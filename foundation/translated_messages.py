"""Messages of the modules without Django, in the language of the page."""

from django.utils.translation import gettext

from foundation.known_messages import known_message
from foundation.messages import message_of, translate_message


def translated(message: str) -> str:
    """Translate a message, or a text that a known template made."""
    return translate_message(known_message(message), gettext)


def translated_error(error: Exception) -> str:
    """Return the text of an error in the active language."""
    return translated(message_of(error))
