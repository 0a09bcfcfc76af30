"""Messages of the modules without Django, in the language of the page."""

from collections.abc import Iterator
from contextlib import contextmanager

from django.contrib import messages
from django.http import HttpRequest
from django.utils.translation import gettext

from foundation.known_messages import recognise_message
from foundation.messages import extract_message, translate_message


def translate_text(message: str) -> str:
    """Translate a message, or a text that a known template made."""
    return translate_message(recognise_message(message), gettext)


def translate_error(error: Exception) -> str:
    """Return the text of an error in the active language."""
    return translate_text(extract_message(error))


@contextmanager
def show_errors(request: HttpRequest, *kinds: type[Exception]) -> Iterator[None]:
    """Show an error of these kinds to the user as a message, and go on."""
    try:
        yield
    except kinds as error:
        messages.error(request, translate_error(error))
