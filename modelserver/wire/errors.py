"""Everything that can go wrong between a caller and the model server.

    ModelServerError
    ├── Unavailable          cannot be reached, is starting, or is draining: try again later
    │   ├── Overloaded       its queue is full; ``retry_after`` seconds say when to come back
    │   └── DeadlineExceeded no answer within the time the caller gave
    ├── UnknownSystem        no system of that name is served: final
    ├── InvalidRequest       an item breaks the schema or the server's limits: final, names the field
    │   └── TooLarge         the request exceeds the server's size limits: send less at once
    ├── Unauthorized         the bearer token is missing or wrong: final
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


class ModelServerError(Exception):
    """Base of every error that this package raises on purpose.

    ``field`` names the offending part of the request, such as ``items.3.question``. ``retry_after`` is
    in seconds.
    """

    code: ClassVar[str] = "internal_error"
    status: ClassVar[int] = 500

    def __init__(self, message: str, *, field: str | None = None, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.field = field
        self.retry_after = retry_after


class Unavailable(ModelServerError):
    """The server cannot answer now; the same request may succeed later."""

    code = "unavailable"
    status = 503


class Overloaded(Unavailable):
    """The server's queue is full."""

    code = "overloaded"


class DeadlineExceeded(Unavailable):
    """No answer came within the caller's time; queued work was dropped."""

    code = "deadline_exceeded"
    status = 504


class UnknownSystem(ModelServerError):
    """The server does not serve a system of the given name."""

    code = "unknown_system"
    status = 404


class InvalidRequest(ModelServerError):
    """The request breaks the schema or a limit of the server."""

    code = "invalid_request"
    status = 422


class TooLarge(InvalidRequest):
    """The request has more bytes or items than the server takes at once."""

    code = "too_large"
    status = 413


class Unauthorized(ModelServerError):
    """The server asks for a bearer token that was missing or wrong."""

    code = "unauthorized"
    status = 401


class PredictionFailed(ModelServerError):
    """The system failed on an item; other items of the batch are not affected."""

    code = "prediction_failed"


class SchemaMismatch(ModelServerError):
    """Client and server speak different versions of the wire schema."""

    code = "schema_mismatch"
    status = 409


class MixedRevisions(ModelServerError):
    """Two servers of one client serve a system in different revisions.

    The message names both.
    """

    code = "mixed_revisions"


class BadResponse(ModelServerError):
    """The answer does not come from a model server of this version."""

    code = "bad_response"
    status = 502


class LoadFailed(ModelServerError):
    """A system cannot be loaded; the others go on."""

    code = "load_failed"


class UnreadableWeights(LoadFailed):
    """The weights of a system are missing or damaged."""

    code = "unreadable_weights"


class UnusableSystem(LoadFailed):
    """A user's own system violates the interface.

    The message names its file or server.
    """

    code = "unusable_system"


class UnreadableData(ModelServerError):
    """A data file is missing or malformed, or output cannot be written."""

    code = "unreadable_data"


class PortTaken(ModelServerError):
    """The server cannot listen on the address it was given."""

    code = "port_taken"


ON_THE_WIRE: dict[str, type[ModelServerError]] = {
    error.code: error
    for error in (
        ModelServerError, Unavailable, Overloaded, DeadlineExceeded, UnknownSystem, InvalidRequest, TooLarge,
        Unauthorized, SchemaMismatch, LoadFailed, UnreadableWeights, UnusableSystem,
    )
}  # fmt: skip
"""The errors that a response can carry, by code."""
