"""What the actions ask of the model server. Never called inside a transaction: an answer may take minutes."""

from collections.abc import Iterator, Sequence

from foundation.errors import RunFailed
from jobs import request_ids
from jobs.model_gateway import connected
from modelserver.wire.client import ModelClient
from modelserver.wire.errors import InvalidRequest
from modelserver.wire.schema import Execution, ItemError, ModuleItem

PATIENCE_SECONDS = 30.0  # for a server that restarts; the task queue waits longer than that by itself
MOST_BYTES = 12 * 2**20  # of the images in one request: a third more in base64, of the 32 MiB that are taken

Outcome = Execution | ItemError


def ask(*, system: str, revision: str, items: Sequence[ModuleItem]) -> list[Outcome]:
    """Return one execution or error for each item, in their order.

    Raises RunFailed when another revision answers than the one asked for, MixedRevisions when two servers
    differ, and what ``ModelClient.execute`` raises but InvalidRequest: an item that the server refuses
    becomes an ItemError of its own.
    """
    with connected(patience=PATIENCE_SECONDS) as client:
        return [one for part in _parts(items) for one in _asked(client, system, revision, part)]


def _parts(items: Sequence[ModuleItem]) -> Iterator[list[ModuleItem]]:
    """Cut items so that the images of a request are not too much at once."""
    part: list[ModuleItem] = []
    total = 0
    for item in items:
        size = sum(len(image.data or b"") for image in item.images)
        if part and total + size > MOST_BYTES:
            yield part
            part, total = [], 0
        part.append(item)
        total += size
    if part:
        yield part


def _asked(client: ModelClient, system: str, revision: str, items: Sequence[ModuleItem]) -> list[Outcome]:
    try:
        response = client.execute(system, items, request_id=request_ids.label() or None)
    except InvalidRequest as error:
        if error.field == "system":  # no item is to blame
            raise
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
            f"revision {revision}; execute again to begin a run of the new one"
        )
    return list(response.executions)
