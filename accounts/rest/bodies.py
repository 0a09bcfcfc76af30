"""Bodies and query strings of requests as typed values."""

from collections.abc import Iterator
from typing import TypeVar

from pydantic import BaseModel, RootModel, ValidationError
from rest_framework.request import Request

from accounts.rest.problems import Refused, build_field_refusal
from foundation.frozen_model import FrozenModel

MOST_BYTES = 8 << 20  # of a body that is read as a whole
MOST_LINE_BYTES = 16 << 20  # of JSON lines, which are read one by one
BLOCK = 1 << 18  # bytes of a body in memory at a time
JSON, LINES, FILE = "application/json", "application/x-ndjson", "application/octet-stream"

Shape = TypeVar("Shape", bound=BaseModel)


class Payload(FrozenModel):
    """Base of the types of requests and responses: no unknown fields."""


def read_body(request: Request, shape: type[Shape]) -> Shape:
    """Parse the body as the endpoint's type.

    Raises:
        Refused: 400 for what is not JSON, 413 for too much of it, 415 for another media type, 422 for wrong
            fields, each of which it names.
    """
    if read_media_type(request) != JSON:
        raise Refused(415, f"Send {JSON}, not {request.content_type or 'a body without a type'}.")
    check_length(request, MOST_BYTES)
    return _parse_body(b"".join(read_blocks(request)), shape)


def read_records(request: Request, shape: type[Shape]) -> Iterator[Shape]:
    """Yield the records of a JSON list or of JSON lines.

    Lines are never in memory together. Raises as `read_body`.
    """
    media = read_media_type(request)
    if media == JSON:
        check_length(request, MOST_BYTES)
        yield from _parse_body(b"".join(read_blocks(request)), RootModel[list[shape]]).root  # type: ignore[valid-type]
    elif media == LINES:
        check_length(request, MOST_LINE_BYTES)
        for number, line in enumerate(read_lines(request), start=1):
            if line.strip():
                yield _parse_body(line, shape, f"line {number}.")
    else:
        raise Refused(415, f"Send {JSON} or {LINES}, not {request.content_type or 'a body without a type'}.")


def read_query(request: Request, shape: type[Shape]) -> Shape:
    """Parse the query string. Unknown parameters are errors."""
    try:
        return shape.model_validate(request.query_params.dict())
    except ValidationError as error:
        raise build_field_refusal(error) from error


def read_media_type(request: Request) -> str:
    """Return the media type of the body without its parameters."""
    return (request.content_type or "").partition(";")[0].strip().lower()


def check_length(request: Request, most: int) -> None:
    """Refuse a body that is too long.

    The server reads bodies without a length as empty.
    """
    length = request.META.get("CONTENT_LENGTH")
    if length and length.isdecimal() and int(length) > most:
        raise Refused(
            413, f"The body has {int(length):,} bytes; at most {most:,} are accepted. Send it in parts."
        )


def read_blocks(request: Request) -> Iterator[bytes]:
    """Yield the body block by block.

    Raises:
        Refused: 400, if it ends before its declared length.
    """
    read = 0
    while block := request._request.read(BLOCK):
        read += len(block)
        yield block
    if read != int(request.META.get("CONTENT_LENGTH") or 0):
        raise Refused(400, "The body ends early.")


def read_lines(request: Request) -> Iterator[bytes]:
    """Yield the lines of the body.

    The web server's `readline` is not used, because granian's loses the rest.
    """
    left = b""
    for block in read_blocks(request):
        *lines, left = (left + block).split(b"\n")
        yield from lines
    yield left


def _parse_body(body: bytes, shape: type[Shape], prefix: str = "") -> Shape:
    try:
        return shape.model_validate_json(body)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        if first["type"] == "json_invalid":
            raise Refused(400, f"{prefix and prefix + ' '}{first['msg']}") from error
        raise build_field_refusal(error, prefix) from error
