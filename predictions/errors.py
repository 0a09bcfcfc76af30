"""What can go wrong with datasets and runs, each with a sentence fit for a person.

PredictionsError (a TouchstoneError, as are Conflict, NotFound, BadFile, RunFailed of foundation.errors)
└── NoSaliency     a system has no way to say which words counted
"""

from foundation.errors import TouchstoneError


class PredictionsError(TouchstoneError):
    """Base of every error that this app raises on purpose."""


class NoSaliency(PredictionsError):
    """A system has no way to say which words counted."""
