"""Describe endpoints in the OpenAPI document from their pydantic types."""

from collections.abc import Callable
from typing import Any

from drf_spectacular.utils import OpenApiResponse, extend_schema
from pydantic import BaseModel

from accounts.rest.bodies import JSON, LINES
from accounts.rest.describe import parameters
from annotation.api.shapes import Problem

ERRORS = {
    400: "The body is not JSON.",
    401: "No login and no valid token.",
    403: "Your roles do not allow it, or what you ask for is not open to you now.",
    404: "There is nothing for you under this address.",
    413: "The body is too long.",
    415: "The body is of another media type.",
    422: "A field is wrong; it is named.",
    409: "It contradicts what is stored, or somebody was quicker.",
    410: "The reservation ran out, and others took the item.",
}


def described(
    *,
    answers: Any = None,
    status: int = 200,
    takes: Any = None,
    lines: type[BaseModel] | None = None,
    query: type[BaseModel] | None = None,
    errors: tuple[int, ...] = (),
) -> Callable[[Any], Any]:
    """Describe a method: its docstring is the summary.

    Args:
        answers: The type of the response.
        status: Its status.
        takes: The type of the request body.
        lines: The body may be JSON lines of this type instead.
        query: The query parameters.
        errors: Further status codes of errors.
    """
    common = (401, 403, 404) + ((400, 413, 415, 422) if takes else ()) + ((422,) if query else ())
    responses = {code: OpenApiResponse(Problem, ERRORS[code]) for code in sorted({*common, *errors})}
    if query and "dry_run" in query.model_fields:
        responses[200] = OpenApiResponse(answers, "The report of a dry run.")
    request = {JSON: takes, LINES: lines} if lines else takes

    def decorate(method: Any) -> Any:
        summary = method.__doc__.partition("\n")[0].removesuffix(".")
        return extend_schema(
            operation_id=summary.partition(",")[0]
            .partition(";")[0]
            .replace("'", "")
            .replace(" ", "_")
            .lower(),
            summary=summary,
            request=request,
            parameters=parameters(query) if query else None,
            responses={**responses, status: answers},
        )(method)

    return decorate


def ids_are_natural(result: dict[str, Any], **_options: Any) -> dict[str, Any]:
    """Declare every ID in an address as not negative (drf_spectacular hook)."""
    for path in result["paths"].values():
        for operation in path.values():
            for parameter in operation.get("parameters", ()):
                if parameter["in"] == "path" and parameter["schema"].get("type") == "integer":
                    parameter["schema"]["minimum"] = 0
    return result
