"""What every system offers: the one interface that server, batcher and evaluation rely on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from modelserver.schema import QAItem, QAPrediction


class System(Protocol):
    """A trained system that answers questions and names the facts it used.

    ``revision`` is 12 hex digits: a digest of weights and configuration, so that a stored prediction
    says what made it. All methods may be called from several threads at once: the server runs a batch
    on each core.
    """

    name: str
    description: str
    revision: str

    def cost(self, item: QAItem) -> int:
        """Work units (tokens) of an item; batches are filled with items of like cost."""
        ...

    def check(self, item: QAItem) -> None:
        """Raise InvalidRequest, naming the field, when the system cannot take the item."""
        ...

    def predict(self, items: Sequence[QAItem]) -> list[QAPrediction]:
        """Answer the items as one padded batch, in their order.

        Deterministic, and the answer to an item does not depend on the items beside it.
        """
        ...
