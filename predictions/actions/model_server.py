"""What the actions ask of the model server. Never called inside a transaction: an answer may take minutes."""

from collections.abc import Callable, Sequence
from typing import TypeVar

from foundation.errors import RunFailed
from jobs import request_ids
from jobs.model_gateway import connected
from modelserver.wire.client import ModelClient
from modelserver.wire.errors import InvalidRequest
from modelserver.wire.schema import Explanation, ItemError, QAItem, QAPrediction, SaliencyOptions
from predictions.errors import NoSaliency

PATIENCE_SECONDS = 30.0  # for a server that restarts; the task queue waits longer than that by itself

Outcome = QAPrediction | ItemError
T = TypeVar("T")


def ask(*, system: str, revision: str, items: Sequence[QAItem]) -> list[Outcome]:
    """Return one prediction or error for each item, in their order.

    Raises RunFailed when another revision answers than the one asked for, MixedRevisions when two servers
    differ, and what ``ModelClient.predict`` raises but InvalidRequest: an item that the server refuses
    becomes an ItemError of its own.
    """
    with connected(patience=PATIENCE_SECONDS) as client:

        def predicted(part: Sequence[QAItem]) -> Sequence[Outcome]:
            response = client.predict(system, part, request_id=request_ids.label() or None)
            _require_revision(client, system, revision, response.revision)
            return response.predictions

        return _in_parts(predicted, items)


def ask_why(
    *, system: str, revision: str, items: Sequence[QAItem], options: SaliencyOptions
) -> list[Explanation | ItemError]:
    """Return the saliency of each item, or an error, in their order.

    Raises NoSaliency where the system has none, and all else as `ask` does.
    """
    with connected(patience=PATIENCE_SECONDS) as client:

        def explained(part: Sequence[QAItem]) -> Sequence[Explanation | ItemError]:
            try:
                response = client.explain(system, part, options, request_id=request_ids.label() or None)
            except InvalidRequest as error:
                if error.field == "system":  # no smaller part would fare better
                    raise NoSaliency(str(error)) from error
                raise
            _require_revision(client, system, revision, response.revision)
            return response.explanations

        return _in_parts(explained, items)


def _in_parts(
    asked: Callable[[Sequence[QAItem]], Sequence[T]], items: Sequence[QAItem]
) -> list[T | ItemError]:
    try:
        return list(asked(items))
    except InvalidRequest as error:
        if len(items) == 1:
            return [ItemError(id=items[0].id, error="invalid_item", message=str(error))]
        # Too much at once, or one bad item: halves find out which, and lose nothing else.
        half = len(items) // 2
        return [*_in_parts(asked, items[:half]), *_in_parts(asked, items[half:])]


def _require_revision(client: ModelClient, system: str, wanted: str, found: str) -> None:
    if found != wanted:
        client.systems()  # raises where servers differ, which is not the same as new weights
        raise RunFailed(
            f"the model server now serves {system} in revision {found}, and this run is of revision "
            f"{wanted}; run the command again to begin one of the new revision"
        )
