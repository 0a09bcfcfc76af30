"""What the actions ask of the model server. Never called inside a transaction: an answer may take minutes."""

from collections.abc import Sequence

from accounts import tracing
from accounts.errors import RunFailed
from accounts.model_server import connected
from modelserver.client import ModelClient
from modelserver.errors import InvalidRequest
from modelserver.schema import ItemError, QAItem, QAPrediction

PATIENCE_SECONDS = 30.0  # for a server that restarts; the task queue waits longer than that by itself

Outcome = QAPrediction | ItemError


def ask(*, system: str, revision: str, items: Sequence[QAItem]) -> list[Outcome]:
    """Return one prediction or error for each item, in their order.

    Raises RunFailed when another revision answers than the one asked for, MixedRevisions when two servers
    differ, and what ``ModelClient.predict`` raises but InvalidRequest: an item that the server refuses
    becomes an ItemError of its own.
    """
    with connected(patience=PATIENCE_SECONDS) as client:
        return _asked(client, system, revision, items)


def _asked(client: ModelClient, system: str, revision: str, items: Sequence[QAItem]) -> list[Outcome]:
    try:
        response = client.predict(system, items, request_id=tracing.label() or None)
    except InvalidRequest as error:
        if len(items) == 1:
            return [ItemError(id=items[0].id, error="invalid_item", message=str(error))]
        # Too much at once, or one bad item: halves find out which, and lose nothing else.
        half = len(items) // 2
        return [
            *_asked(client, system, revision, items[:half]),
            *_asked(client, system, revision, items[half:]),
        ]
    if response.revision != revision:
        client.systems()  # raises where servers differ, which is not the same as new weights
        raise RunFailed(
            f"the model server now serves {system} in revision {response.revision}, and this run is of "
            f"revision {revision}; predict again to begin a run of the new one"
        )
    return list(response.predictions)
