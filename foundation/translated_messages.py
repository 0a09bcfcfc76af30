"""Sentences of the modules without Django, said in the language of the page."""

from django.utils.translation import gettext

from foundation.messages import message_of, said


def in_words(message: str) -> str:
    """A message in the active language."""
    return said(message, gettext)


def told(error: Exception) -> str:
    """What an error says, in the active language."""
    return in_words(message_of(error))
