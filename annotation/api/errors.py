"""Turn our errors and pydantic's into a status, a message and a field."""

from typing import Any

from django.core.exceptions import ValidationError as ModelError
from pydantic import ValidationError
from rest_framework.response import Response
from rest_framework.views import exception_handler

from annotation.errors import (
    AnnotationError,
    AssignmentLost,
    BadEdit,
    Conflict,
    NotFound,
    NothingLeft,
    NotReady,
    StaleBase,
)
from annotation.policies import NotAllowed
from foundation.state_machine import ForbiddenTransition

STATUS: dict[type[Exception], int] = {
    BadEdit: 422,
    NotReady: 422,
    StaleBase: 409,
    Conflict: 409,
    ForbiddenTransition: 409,
    AssignmentLost: 410,
    NothingLeft: 404,
    NotFound: 404,
    NotAllowed: 403,
    AnnotationError: 400,
}


def answer_error(error: Exception, context: dict[str, Any]) -> Response | None:
    """Return the response to an error; None lets it through as a bug."""
    if isinstance(error, ValidationError):
        first = error.errors()[0]
        return Response(
            {"detail": first["msg"], "field": ".".join(str(part) for part in first["loc"])}, status=422
        )
    if isinstance(error, ModelError):
        return Response({"detail": "; ".join(error.messages), "fields": error.message_dict}, status=422)
    for kind, status in STATUS.items():
        if isinstance(error, kind):
            return Response({"detail": str(error), **_details(error)}, status=status)
    return exception_handler(error, context)


def _details(error: Exception) -> dict[str, Any]:
    if isinstance(error, BadEdit):
        return {"operation": error.operation, "field": error.field}
    if isinstance(error, NotReady):
        return {"nodes": list(error.nodes)}
    return {}
