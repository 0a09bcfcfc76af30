"""Share authentication, bodies, queries and pages among API endpoints."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Annotated, Any, TypeVar

from django.http import HttpResponse
from pydantic import BaseModel, Field, RootModel, ValidationError
from rest_framework.exceptions import APIException, ParseError, UnsupportedMediaType
from rest_framework.parsers import BaseParser
from rest_framework.permissions import IsAuthenticated
from rest_framework.request import Request
from rest_framework.views import APIView

from accounts.rest.bodies import (
    JSON,
    LINES,
    MOST_BYTES,
    MOST_LINE_BYTES,
    check_length,
    media_type,
    read_blocks,
    read_lines,
)
from annotation.api.errors import answer_error
from annotation.schemas import Payload
from foundation.import_fields import first_error

Shape = TypeVar("Shape", bound=BaseModel)
Row = TypeVar("Row")
Out = TypeVar("Out", bound=BaseModel)


class Unprocessable(APIException):
    """A well-formed body or query with an invalid field, which it names."""

    status_code = 422

    def __init__(self, message: str, field: str) -> None:
        super().__init__({"detail": message, "field": field})


class JSONBody(BaseParser):
    """A JSON body of bounded length."""

    media_type = JSON

    def parse(
        self, stream: Any, media_type: str | None = None, parser_context: Mapping[str, Any] | None = None
    ) -> Any:
        """Parse the body."""
        assert parser_context is not None  # Django REST framework always passes it
        check_length(parser_context["request"], MOST_BYTES)
        try:
            return json.loads(_whole(parser_context["request"]), parse_constant=_refuse)
        except (ValueError, RecursionError) as error:
            raise ParseError(f"The body is not JSON: {error}") from error


def _refuse(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


class EditorView(APIView):
    """Base of all endpoints: login or token, and errors with a message."""

    permission_classes = [IsAuthenticated]
    parser_classes = [JSONBody]

    def get_exception_handler(self) -> Any:
        """Return our error handler."""
        return answer_error


def read_body(request: Request, shape: type[Shape]) -> Shape:
    """Parse the body as the endpoint's type.

    Raises errors with status 400, 413, 415 or 422.
    """
    if media_type(request) != JSON:
        raise UnsupportedMediaType(request.content_type or "none")
    check_length(request, MOST_BYTES)
    return _parsed(_whole(request), shape)


def _whole(request: Request) -> bytes:
    return b"".join(read_blocks(request))


def read_records(request: Request, shape: type[Shape]) -> Iterator[Shape]:
    """Yield the records of a JSON list or of JSON lines.

    Lines are never in memory together.
    """
    media = media_type(request)
    if media == JSON:
        check_length(request, MOST_BYTES)
        yield from _parsed(_whole(request), RootModel[list[shape]]).root  # type: ignore[valid-type]
    elif media == LINES:
        check_length(request, MOST_LINE_BYTES)
        for number, line in enumerate(read_lines(request), start=1):
            if line.strip():
                yield _parsed(line, shape, f"line {number}: ")
    else:
        raise UnsupportedMediaType(request.content_type or "none")


def _parsed(body: bytes, shape: type[Shape], prefix: str = "") -> Shape:
    try:
        return shape.model_validate_json(body)
    except ValidationError as error:
        if error.errors(include_url=False, include_input=False)[0]["type"] == "json_invalid":
            raise ParseError(f"{prefix}{first_error(error).removeprefix(': ')}") from error
        raise _unprocessable(error, prefix) from error


def _unprocessable(error: ValidationError, prefix: str = "") -> Unprocessable:
    message = first_error(error)
    return Unprocessable(f"{prefix}{message}".removeprefix(": "), message.partition(": ")[0])


class Page(Payload):
    """A part of a list: at most ``limit`` rows after the last row seen."""

    limit: Annotated[int, Field(ge=1, le=500)] = 100
    after: Annotated[int, Field(ge=0, lt=2**63)] = 0


def read_query(request: Request, shape: type[Shape]) -> Shape:
    """Parse the query string. Unknown parameters are errors."""
    try:
        return shape.model_validate(request.query_params.dict())
    except ValidationError as error:
        raise _unprocessable(error) from error


def answer(row: BaseModel, status: int = 200) -> HttpResponse:
    """Return a typed row as JSON."""
    return HttpResponse(row.model_dump_json(), content_type=JSON, status=status)


def page_of(
    request: Request,
    page: Page,
    rows: Sequence[Row],
    key: Callable[[Row], int],
    shown: Callable[[Sequence[Row]], list[Any]],
) -> HttpResponse:
    """Return one page of a list with the address of the ``next``.

    ``rows`` are up to limit + 1 rows in order of ``key``.
    """
    part, address = rows[: page.limit], None
    if len(rows) > page.limit:
        query = request.query_params.copy()
        query["after"] = str(key(part[-1]))
        address = request.build_absolute_uri(f"{request.path}?{query.urlencode()}")
    body = ",".join(row.model_dump_json() for row in shown(part))
    return HttpResponse(f'{{"next":{json.dumps(address)},"results":[{body}]}}', content_type=JSON)
