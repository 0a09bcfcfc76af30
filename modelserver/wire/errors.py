"""Everything that can go wrong between a caller and the model server.

    ModelServerError
    ├── Unavailable          cannot be reached, is starting, or is draining: try again later
    │   ├── Overloaded       its queue is full; ``retry_after`` seconds say when to come back
    │   └── DeadlineExceeded no answer within the time the caller gave
    ├── UnknownSystem        no system of that name is served: final
    ├── InvalidRequest       an item breaks the schema or the server's limits: final, names the field
    │   └── TooLarge         the request exceeds the server's size limits: send less at once
    ├── Unauthorized         the bearer token is missing or wrong: final
    ├── BudgetSpent          the budget of a language model is used up: a person has to raise it
    ├── PredictionFailed     the system failed on this very item: final for the item
    ├── SchemaMismatch       client and server speak different versions of the wire schema: final
    ├── MixedRevisions       two servers of one client serve a system in different revisions: final
    ├── BadResponse          the answer is not one of a model server: final
    ├── LoadFailed           a system cannot be loaded, or does not fit into the memory: final
    │   ├── UnreadableWeights  its weights are missing or damaged
    │   └── UnusableSystem     a user's own system: its file, class or server breaks the interface
    ├── UnreadableData       a file of questions is missing or malformed, or the output cannot be written
    └── PortTaken            the server cannot listen on its address: final

``code`` names an error on the wire and ``status`` is its HTTP status, so that the server raises and the
client receives the same class.
"""

from __future__ import annotations

from typing import ClassVar

from modelserver.wire.redaction import redact_logins


class ModelServerError(Exception):
    """Base of every error that this package raises on purpose.

    ``field`` names the offending part of the request, such as ``items.3.question``. ``retry_after`` is
    in seconds.
    """

    code: ClassVar[str] = "internal_error"
    status: ClassVar[int] = 500

    def __init_subclass__(cls, *, code: str | None = None, status: int | None = None) -> None:
        """Set what a class line gives; the rest is the parent's."""
        cls.code, cls.status = code or cls.code, status or cls.status

    def __init__(self, message: str, *, field: str | None = None, retry_after: float | None = None) -> None:
        super().__init__(redact_logins(message))
        self.field = field
        self.retry_after = retry_after


class Unavailable(ModelServerError, code="unavailable", status=503):
    """The server cannot answer now; the same request may succeed later."""


class Overloaded(Unavailable, code="overloaded"):
    """The server's queue is full."""


class DeadlineExceeded(Unavailable, code="deadline_exceeded", status=504):
    """No answer came within the caller's time; queued work was dropped."""


class UnknownSystem(ModelServerError, code="unknown_system", status=404):
    """The server does not serve a system of the given name."""


class InvalidRequest(ModelServerError, code="invalid_request", status=422):
    """The request breaks the schema or a limit of the server."""


class TooLarge(InvalidRequest, code="too_large", status=413):
    """The request has more bytes or items than the server takes at once."""


class Unauthorized(ModelServerError, code="unauthorized", status=401):
    """The server asks for a bearer token that was missing or wrong."""


class PredictionFailed(ModelServerError, code="prediction_failed"):
    """The system failed on an item; other items of the batch are not affected."""


class BudgetSpent(ModelServerError, code="budget_spent", status=402):
    """The budget of a language model is used up; answers so far remain."""


class SchemaMismatch(ModelServerError, code="schema_mismatch", status=409):
    """Client and server speak different versions of the wire schema."""


class MixedRevisions(ModelServerError, code="mixed_revisions"):
    """Two servers of one client serve a system in different revisions.

    The message names both.
    """


class BadResponse(ModelServerError, code="bad_response", status=502):
    """The answer does not come from a model server of this version."""


class LoadFailed(ModelServerError, code="load_failed"):
    """A system cannot be loaded; the others go on."""


class UnreadableWeights(LoadFailed, code="unreadable_weights"):
    """The weights of a system are missing or damaged."""


class UnusableSystem(LoadFailed, code="unusable_system"):
    """A user's own system violates the interface.

    The message names its file or server.
    """


class UnreadableData(ModelServerError, code="unreadable_data"):
    """A data file is missing or malformed, or output cannot be written."""


class PortTaken(ModelServerError, code="port_taken"):
    """The server cannot listen on the address it was given."""


ON_THE_WIRE: dict[str, type[ModelServerError]] = {
    error.code: error
    for error in (
        ModelServerError, Unavailable, Overloaded, DeadlineExceeded, UnknownSystem, InvalidRequest, TooLarge,
        Unauthorized, SchemaMismatch, BudgetSpent, LoadFailed, UnreadableWeights, UnusableSystem,
    )
}  # fmt: skip
"""The errors that a response can carry, by code."""
