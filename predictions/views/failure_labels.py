"""Words for what went wrong in a run.

The causes come from model servers; `foundation.known_messages` knows their texts.
"""

from collections.abc import Iterator
from typing import NamedTuple

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from predictions.models import PredictionFailure, PredictionRun
from predictions.queries.rest import group_failures

# By the codes of `modelserver.wire.schema.ItemError`.
KINDS: dict[str, str | Promise] = {
    "invalid_item": _("The system does not take the question"),
    "prediction_failed": _("The system failed"),
    "out_of_memory": _("The question needs too much memory"),
    "invalid_answer": _("The answer is not valid"),
    "refused": _("The language model declined to answer"),
}


class FailureRow(NamedTuple):
    """A kind of failure in the reader's language, its number, an example."""

    label: str | Promise
    kind: str
    number: int
    first: PredictionFailure


def list_labelled_failures(run: PredictionRun) -> Iterator[FailureRow]:
    """Yield each kind of failure of a run, frequent first."""
    for kind, number, first in group_failures(run):
        yield FailureRow(KINDS.get(kind, kind), kind, number, first)
