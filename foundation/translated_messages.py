"""Messages of the modules without Django, in the language of the page."""

from django.utils.translation import gettext

from foundation.messages import message_of, translate_message


def translated(message: str) -> str:
    """Translate a message into the active language."""
    return translate_message(message, gettext)


def translated_error(error: Exception) -> str:
    """Return the text of an error in the active language."""
    return translated(message_of(error))
