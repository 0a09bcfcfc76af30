"""Describe endpoints in the OpenAPI document from their pydantic types."""

from abc import ABC
from collections.abc import Callable
from typing import Any

from drf_spectacular.contrib.pydantic import PydanticExtension
from drf_spectacular.plumbing import ResolvedComponent
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema
from pydantic import BaseModel, TypeAdapter
from typing_extensions import is_typeddict

from accounts.rest.bodies import FILE, JSON, LINES
from accounts.rest.idempotency import HEADER
from accounts.rest.problems import MEDIA_TYPE, ProblemDetails

ERRORS = {
    400: "The body is not JSON.",
    401: "No login and no valid token.",
    403: "Your roles or the scope of your token do not allow this.",
    404: "There is nothing for you under this address.",
    409: "It contradicts the stored state.",
    410: "The reservation ran out, and others took the item.",
    412: "Somebody changed the object since.",
    413: "The body is too long.",
    415: "The body is of another media type.",
    422: "A field is wrong; it is named.",
    428: "The request lacks If-Match.",
    429: "Too many requests; Retry-After says when to go on.",
    503: "A service that this needs cannot be reached now.",
}
BODY, EDITS = (400, 413, 415, 422), (412, 428)


class TypedRow(ABC):  # noqa: B024  # it is only asked for subclasses
    """Every typed dictionary is a subclass of this."""

    @classmethod
    def __subclasshook__(cls, other: type) -> bool:
        """Return whether it is a typed dictionary."""
        return is_typeddict(other)


class TypedRowExtension(PydanticExtension):
    """Describes typed dictionaries as pydantic models."""

    target_class = "accounts.rest.describe.TypedRow"

    def map_serializer(self, auto_schema: Any, direction: Any) -> dict[str, Any]:
        """Return the schema, and make components of those that it refers to."""
        schema = TypeAdapter(self.target).json_schema(
            ref_template="#/components/schemas/{model}", mode="serialization"
        )
        for name, part in schema.pop("$defs", {}).items():
            component = ResolvedComponent(name, ResolvedComponent.SCHEMA, schema=part, object=name)
            auto_schema.registry.register_on_missing(component)
        return schema


def describe_method(
    *,
    answers: Any = None,
    media: str = FILE,
    status: int = 200,
    takes: Any = None,
    lines: type[BaseModel] | None = None,
    query: type[BaseModel] | None = None,
    errors: tuple[int, ...] = (),
    creates: bool = False,
    edits: bool = False,
) -> Callable[[Any], Any]:
    """Describe a method: its docstring is the summary.

    Args:
        answers: The type of the response; bytes for a file.
        media: The media type of a file.
        status: Its status.
        takes: The type of the request body.
        lines: The body may be JSON lines of this type instead.
        query: The query parameters.
        errors: Further status codes of errors.
        creates: The method takes an ``Idempotency-Key``.
        edits: The method asks for ``If-Match``.
    """
    codes = {401, 403, 404, 429, *errors, *(BODY if takes else ()), *(EDITS if edits else ())}
    codes |= {422} if query or creates else set()
    responses: dict[Any, Any] = {
        (code, MEDIA_TYPE): OpenApiResponse(ProblemDetails, ERRORS[code]) for code in sorted(codes)
    }
    if query and "dry_run" in query.model_fields and status == 201:  # a job has the same status either way
        responses[200] = OpenApiResponse(answers, "The report of a dry run.")
    success = {(status, media): OpenApiTypes.BINARY} if answers is bytes else {status: answers}
    headers = [HEADER] * creates + ["If-Match"] * edits
    # The media types are named, because the views have no parsers from which they could be found.
    bodies = {FILE: takes} if takes is bytes else {JSON: takes} if takes else {}
    request = {**bodies, LINES: lines} if lines else bodies or None

    def decorate(method: Any) -> Any:
        summary = method.__doc__.partition("\n")[0].removesuffix(".")
        name = summary.partition(",")[0].partition(";")[0].replace("'", "").replace(" ", "_").lower()
        return extend_schema(
            operation_id=name,
            summary=summary,
            request=request,
            parameters=[
                *(describe_parameters(query) if query else ()),
                *(OpenApiParameter(header, str, OpenApiParameter.HEADER) for header in headers),
            ],
            responses={**responses, **success},
        )(method)

    return decorate


def describe_parameters(shape: type[BaseModel]) -> list[OpenApiParameter]:
    """Return the fields of a type as query parameters."""
    described_fields = []
    for name, field in shape.model_json_schema()["properties"].items():
        kinds = [kind for kind in field.pop("anyOf", [field]) if kind.get("type") != "null"]
        schema_of = {key: value for key, value in kinds[0].items() if key not in ("title", "default")}
        described_fields.append(
            OpenApiParameter(
                name, schema_of, OpenApiParameter.QUERY, description=field.get("description", "")
            )
        )
    return described_fields


def declare_natural_ids(result: dict[str, Any], **_options: Any) -> dict[str, Any]:
    """Declare every ID in an address as not negative (drf_spectacular hook)."""
    for path in result["paths"].values():
        for operation in path.values():
            for parameter in operation.get("parameters", ()):
                if parameter["in"] == "path" and parameter["schema"].get("type") == "integer":
                    parameter["schema"]["minimum"] = 0
    return result
