"""Words for what went wrong in a run.

Causes come in English from model servers and commands. Pages put the kind of failure before them in the
reader's language.
"""

from collections.abc import Iterator
from typing import NamedTuple

from django.utils.functional import Promise
from django.utils.translation import gettext, gettext_noop
from django.utils.translation import gettext_lazy as _

from predictions.models import PredictionFailure, PredictionRun
from predictions.queries.rest import failures_by_kind

# By the codes of `modelserver.wire.schema.ItemError`.
KINDS: dict[str, str | Promise] = {
    "invalid_item": _("The system does not take the question"),
    "prediction_failed": _("The system failed"),
    "out_of_memory": _("The question needs too much memory"),
    "invalid_answer": _("The answer is not valid"),
    "refused": _("The language model declined to answer"),
}
# Why a run has no score, as far as the reason holds no number.
REASONS = (
    gettext_noop("no prediction holds all gold facts"),
    gettext_noop("no prediction holds none of the gold facts"),
    gettext_noop("no predicted answer is a span"),
    gettext_noop("there is no prediction"),
    gettext_noop("the system gives no probability of its answers"),
)


class FailureRow(NamedTuple):
    """A kind of failure in the reader's language, its number, an example."""

    label: str | Promise
    kind: str
    number: int
    first: PredictionFailure


def labelled_failures(run: PredictionRun) -> Iterator[FailureRow]:
    """Yield each kind of failure of a run, frequent first."""
    for kind, number, first in failures_by_kind(run):
        yield FailureRow(KINDS.get(kind, kind), kind, number, first)


def translated_reason(reason: str) -> str:
    """Translate a reason if it is known; return any other as it is."""
    return gettext(reason) if reason in REASONS else reason
