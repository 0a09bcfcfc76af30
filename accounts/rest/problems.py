"""Errors of the REST API as problem details (RFC 9457).

An error of ours says its status in the attribute ``status``; everything else here is of the framework.
"""

from collections.abc import Iterable
from http import HTTPStatus
from typing import Any

from django.core.exceptions import PermissionDenied
from django.core.exceptions import ValidationError as ModelError
from django.http import Http404, HttpResponse
from pydantic import BaseModel, ConfigDict, ValidationError
from rest_framework.exceptions import APIException
from rest_framework.views import set_rollback

from foundation.errors import TouchstoneError
from foundation.state_machine import ForbiddenTransition
from foundation.validation_messages import describe_error
from modelserver.wire.errors import ModelServerError, UnknownSystem

MEDIA_TYPE = "application/problem+json"


class FieldProblem(BaseModel):
    """A field that is wrong: its path, as in ``items.3.text``, and why."""

    field: str
    detail: str


class ProblemDetails(BaseModel):
    """Problem details; ``errors`` names the fields, if fields are wrong.

    Some have further members, as the stored state after a conflict.
    """

    model_config = ConfigDict(extra="allow")

    type: str = "about:blank"
    title: str
    status: int
    detail: str
    errors: list[FieldProblem] = []


class Refused(APIException):
    """A request that cannot be served, with the fields that are wrong."""

    def __init__(self, status: int, detail: str, errors: Iterable[FieldProblem] = ()) -> None:
        self.status_code = status
        self.errors = list(errors)
        super().__init__(detail)


def build_field_refusal(error: ValidationError, prefix: str = "") -> Refused:
    """Return the refusal of a body or query with invalid fields."""
    fields = [
        FieldProblem(
            field=prefix + ".".join(str(part) for part in problem["loc"]),
            detail=str(describe_error(problem)),
        )
        for problem in error.errors(include_url=False)
    ]
    first = fields[0]
    return Refused(422, f"{first.field}: {first.detail}".removeprefix(": "), fields)


def answer_problem(error: Exception, context: dict[str, Any]) -> HttpResponse | None:
    """Return the response to an error; None lets it through as a bug."""
    problem = _describe_problem(error)
    if problem is None:
        return None
    set_rollback()
    response = HttpResponse(
        problem.model_dump_json(exclude_defaults=True), content_type=MEDIA_TYPE, status=problem.status
    )
    for name, attribute in (("WWW-Authenticate", "auth_header"), ("Retry-After", "wait")):
        if (value := getattr(error, attribute, None)) is not None:
            response.headers[name] = str(value if name != "Retry-After" else int(value) + 1)
    return response


def _describe_problem(error: Exception) -> ProblemDetails | None:
    fields: list[FieldProblem] = []
    members: dict[str, Any] = {}
    match error:
        case Refused():
            status, detail, fields = error.status_code, str(error.detail), error.errors
        case APIException():
            status, detail = error.status_code, str(error.detail)
        case Http404():
            status, detail = 404, str(error) or "There is nothing here for you under this address."
        case PermissionDenied():
            status, detail = 403, str(error) or "You may not do this."
        case ValidationError():
            return _describe_problem(build_field_refusal(error))
        case ModelError():
            status, detail = 422, "; ".join(error.messages)
            if hasattr(error, "error_dict"):
                fields = [
                    FieldProblem(field=name, detail="; ".join(texts))
                    for name, texts in error.message_dict.items()
                ]
        case UnknownSystem():
            # Its own message has the address of the model server, which concerns administrators alone.
            fields = [FieldProblem(field="system", detail="the model server serves no system of this name")]
            status, detail = 422, f"{fields[0].field}: {fields[0].detail}"
        case ModelServerError():
            status, detail = 503, "The model server does not answer now. Try again in a minute."
        case ForbiddenTransition():
            status, detail = 409, str(error)
        case TouchstoneError():
            status, detail, members = error.status, str(error), error.members
            if field := getattr(error, "field", ""):
                fields = [FieldProblem(field=field, detail=detail)]
        case _:
            return None
    title = HTTPStatus(status).phrase
    return ProblemDetails(title=title, status=status, detail=detail, errors=fields, **members)
