"""How endpoints are described in the OpenAPI document: from the pydantic types that they read and answer."""

from collections.abc import Callable
from typing import Any

from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema
from pydantic import BaseModel

from annotation.api.base import JSON, LINES
from annotation.api.shapes import Problem

ERRORS = {
    400: "The body is not JSON.",
    401: "No login and no valid token.",
    403: "Your role in the project does not reach, or what you ask for is not open to you now.",
    404: "There is nothing for you under this address.",
    413: "The body is too long.",
    415: "The body is of another media type.",
    422: "A field is wrong; it is named.",
    409: "It contradicts what is stored, or somebody was quicker.",
    410: "The reservation ran out, and others took the item.",
}


def described(
    summary: str,
    *,
    answers: Any = None,
    status: int = 200,
    takes: Any = None,
    lines: type[BaseModel] | None = None,
    query: type[BaseModel] | None = None,
    errors: tuple[int, ...] = (),
) -> Callable[[Any], Any]:
    """Describe a method: what it takes and answers. ``lines``: the body may be lines of that instead."""
    common = (401, 403, 404) + ((400, 413, 415, 422) if takes else ()) + ((422,) if query else ())
    responses = {code: OpenApiResponse(Problem, ERRORS[code]) for code in sorted({*common, *errors})}
    request = {JSON: takes, LINES: lines} if lines else takes
    return extend_schema(
        operation_id=summary.partition(",")[0].partition(";")[0].replace("'", "").replace(" ", "_").lower(),
        summary=summary,
        request=request,
        parameters=parameters(query) if query else None,
        responses={status: answers, **responses},
    )


def parameters(shape: type[BaseModel]) -> list[OpenApiParameter]:
    """The fields of a type as parameters of the address."""
    schema = shape.model_json_schema()
    found = []
    for name, field in schema["properties"].items():
        kinds = [one for one in field.pop("anyOf", [field]) if one.get("type") != "null"]
        told = {key: value for key, value in kinds[0].items() if key not in ("title", "default")}
        if "$ref" in told:
            told = {"type": "string", "enum": schema["$defs"][told["$ref"].rpartition("/")[2]]["enum"]}
        found.append(
            OpenApiParameter(name, told, OpenApiParameter.QUERY, description=field.get("description", ""))
        )
    return found


def ids_are_natural(result: dict[str, Any], **_options: Any) -> dict[str, Any]:
    """Say of every id in an address that it is not negative. A hook of drf_spectacular."""
    for path in result["paths"].values():
        for operation in path.values():
            for one in operation.get("parameters", ()):
                if one["in"] == "path" and one["schema"].get("type") == "integer":
                    one["schema"]["minimum"] = 0
    return result
