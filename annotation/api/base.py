"""What the API's endpoints share: who may come, how bodies and queries are read, how pages are cut."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Annotated, Any, TypeVar

from django.http import HttpResponse
from pydantic import BaseModel, Field, RootModel, ValidationError
from rest_framework.authentication import SessionAuthentication, TokenAuthentication
from rest_framework.exceptions import APIException, ParseError, UnsupportedMediaType
from rest_framework.parsers import BaseParser
from rest_framework.permissions import IsAuthenticated
from rest_framework.request import Request
from rest_framework.views import APIView

from annotation.api.errors import answer_error
from annotation.schemas import Payload
from foundation.import_fields import first_error

MOST_BYTES = 8 << 20  # of a body that is read as a whole
MOST_LINE_BYTES = 16 << 20  # of JSON lines, which are read one by one
BLOCK = 1 << 18  # bytes of a body in memory at a time
JSON, LINES = "application/json", "application/x-ndjson"

Shape = TypeVar("Shape", bound=BaseModel)
Row = TypeVar("Row")
Out = TypeVar("Out", bound=BaseModel)


class TooLarge(APIException):
    """The body is longer than the endpoint takes."""

    status_code = 413
    default_detail = "The body is too long."


class Unprocessable(APIException):
    """The body or the query is well formed, but not what is asked for; names the field."""

    status_code = 422

    def __init__(self, message: str, field: str) -> None:
        super().__init__({"detail": message, "field": field})


class JSONBody(BaseParser):
    """A JSON body of bounded length, whatever it holds."""

    media_type = JSON

    def parse(
        self, stream: Any, media_type: str | None = None, parser_context: Mapping[str, Any] | None = None
    ) -> Any:
        assert parser_context is not None  # Django REST framework passes it always
        check_length(parser_context["request"], MOST_BYTES)
        try:
            return json.loads(_whole(parser_context["request"]), parse_constant=_refuse)
        except (ValueError, RecursionError) as error:
            raise ParseError(f"The body is not JSON: {error}") from error


def _refuse(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


class EditorView(APIView):
    """The base of all endpoints: for everybody with a login or a token, errors as sentences."""

    # The token comes first: its 401 says what is wanted; sessions alone would answer 403 to everything.
    authentication_classes = [TokenAuthentication, SessionAuthentication]
    permission_classes = [IsAuthenticated]
    parser_classes = [JSONBody]

    def get_exception_handler(self) -> Any:
        return answer_error


def check_length(request: Request, most: int) -> None:
    """Raise TooLarge where the body is longer. Bodies without a length are read as empty by the server."""
    length = request.META.get("CONTENT_LENGTH")
    if length and length.isdecimal() and int(length) > most:
        raise TooLarge(f"The body has {int(length):,} bytes; at most {most:,} are taken here.")


def read_body(request: Request, shape: type[Shape]) -> Shape:
    """The body as what the endpoint asks for. Raises errors with status 400, 413, 415 or 422."""
    if _media(request) != JSON:
        raise UnsupportedMediaType(request.content_type or "none")
    check_length(request, MOST_BYTES)
    return _parsed(_whole(request), shape)


def _whole(request: Request) -> bytes:
    return b"".join(read_blocks(request))


def read_blocks(request: Request) -> Iterator[bytes]:
    """The body, block by block. Raises ParseError where it ends before the length that was said."""
    read = 0
    while block := request._request.read(BLOCK):
        read += len(block)
        yield block
    if read != int(request.META.get("CONTENT_LENGTH") or 0):
        raise ParseError("The body ends early.")


def _lines(request: Request) -> Iterator[bytes]:
    """The lines of the body. The web server's own `readline` is not used: granian's loses what follows."""
    left = b""
    for block in read_blocks(request):
        *lines, left = (left + block).split(b"\n")
        yield from lines
    yield left


def read_records(request: Request, shape: type[Shape]) -> Iterator[Shape]:
    """The records of a body: a JSON list, or JSON lines, which are never in memory together."""
    media = _media(request)
    if media == JSON:
        check_length(request, MOST_BYTES)
        yield from _parsed(_whole(request), RootModel[list[shape]]).root  # type: ignore[valid-type]
    elif media == LINES:
        check_length(request, MOST_LINE_BYTES)
        for number, line in enumerate(_lines(request), start=1):
            if line.strip():
                yield _parsed(line, shape, f"line {number}: ")
    else:
        raise UnsupportedMediaType(request.content_type or "none")


def _media(request: Request) -> str:
    return (request.content_type or "").partition(";")[0].strip().lower()


def _parsed(body: bytes, shape: type[Shape], prefix: str = "") -> Shape:
    try:
        return shape.model_validate_json(body)
    except ValidationError as error:
        if error.errors(include_url=False, include_input=False)[0]["type"] == "json_invalid":
            raise ParseError(f"{prefix}{first_error(error).removeprefix(': ')}") from error
        raise _unprocessable(error, prefix) from error


def _unprocessable(error: ValidationError, prefix: str = "") -> Unprocessable:
    told = first_error(error)
    return Unprocessable(f"{prefix}{told}".removeprefix(": "), told.partition(": ")[0])


class Page(Payload):
    """Which part of a list: ``limit`` rows at most, after the row with which the page before ended."""

    limit: Annotated[int, Field(ge=1, le=500)] = 100
    after: Annotated[int, Field(ge=0, lt=2**63)] = 0


def read_query(request: Request, shape: type[Shape]) -> Shape:
    """The query of the address. A parameter that the endpoint does not know is an error, not ignored."""
    try:
        return shape.model_validate(request.query_params.dict())
    except ValidationError as error:
        raise _unprocessable(error) from error


def answer(row: BaseModel, status: int = 200) -> HttpResponse:
    """A typed row as JSON."""
    return HttpResponse(row.model_dump_json(), content_type=JSON, status=status)


def page_of(
    request: Request,
    page: Page,
    found: Sequence[Row],
    key: Callable[[Row], int],
    shown: Callable[[Sequence[Row]], list[Any]],
) -> HttpResponse:
    """One page of a list, whose ``next`` leads on. ``found`` are up to limit + 1 rows in order of ``key``."""
    rows, address = found[: page.limit], None
    if len(found) > page.limit:
        query = request.query_params.copy()
        query["after"] = str(key(rows[-1]))
        address = request.build_absolute_uri(f"{request.path}?{query.urlencode()}")
    body = ",".join(one.model_dump_json() for one in shown(rows))
    return HttpResponse(f'{{"next":{json.dumps(address)},"results":[{body}]}}', content_type=JSON)
