"""Answers: one row, one page of a list by cursor, or a stream of lines."""

import base64
import binascii
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Annotated, Any, Generic, TypeVar

from django.db.models import Model, QuerySet
from django.http import HttpResponse, HttpResponseBase, StreamingHttpResponse
from pydantic import BaseModel, Field, TypeAdapter
from pydantic_core import to_json
from rest_framework.request import Request

from accounts.rest.bodies import JSON, LINES, Payload
from accounts.rest.problems import FieldProblem, Refused

Row = TypeVar("Row", bound=Model)
Shape = TypeVar("Shape", bound=BaseModel | Mapping[str, object])  # or a typed dictionary
CHUNK = 500
_adapter: Callable[[Any], TypeAdapter[Any]] = cache(TypeAdapter)


class Page(Payload):
    """A part of a list: at most ``limit`` rows from the cursor on."""

    limit: Annotated[int, Field(ge=1, le=500)] = 100
    cursor: Annotated[str, Field(max_length=200)] = ""


class PageOf(BaseModel, Generic[Shape]):
    """Rows, and the address of the following ones, null after the last."""

    next: str | None
    results: list[Shape]

    @classmethod
    def model_parametrized_name(cls, params: tuple[Any, ...]) -> str:
        """Return the name in the OpenAPI document."""
        return params[0].__name__.removesuffix("Row") + "Page"


def answer(row: Any, status: int = 200, **headers: str) -> HttpResponse:
    """Return a typed row as JSON."""
    return HttpResponse(_encode_json(row), content_type=JSON, status=status, headers=headers)


def build_row(shape: type[Shape], source: Any, **others: Any) -> Shape:
    """Return a row with the fields of a stored object, and others.

    A row has the object's attributes of the same names, unless ``others`` has the field; an ``id`` is a text.
    """
    others = {"id": str(getattr(source, "pk", ""))} | others
    names = shape.model_fields if issubclass(shape, BaseModel) else shape.__annotations__
    return validate_row(
        shape, {name: others[name] if name in others else getattr(source, name) for name in names}
    )


def validate_row(shape: type[Shape], values: Any) -> Shape:
    """Return values as a row, or raise ValidationError."""
    row: Shape = _adapter(shape).validate_python(values)
    return row


def _encode_json(row: Any) -> str:
    return to_json(row, inf_nan_mode="null").decode()


def answer_page(
    request: Request,
    page: Page,
    rows: QuerySet[Row],
    shown: Callable[[Sequence[Row]], Iterable[Any]],
    *,
    key: str = "pk",
) -> HttpResponseBase:
    """Return one page of a list in the order of a unique column ``key``.

    A request that accepts JSON lines gets the whole list as a stream, in blocks.
    """
    if page.cursor:
        rows = rows.filter(**{f"{key}__gt": read_cursor(page.cursor)})
    rows = rows.order_by(key)
    if LINES in request.headers.get("Accept", ""):
        return StreamingHttpResponse(_encode_lines(rows, shown, key), content_type=LINES)
    fetched = list(rows[: page.limit + 1])
    part, following = fetched[: page.limit], None
    if len(fetched) > page.limit:
        following = build_next_page_url(request, getattr(part[-1], key))
    body = ",".join(_encode_json(row) for row in shown(part))
    return HttpResponse(f'{{"next":{json.dumps(following)},"results":[{body}]}}', content_type=JSON)


def build_next_page_url(request: Request, key: Any) -> str:
    """Return the address of the page that continues after a key."""
    query = request.query_params.copy()
    query["cursor"] = base64.urlsafe_b64encode(json.dumps(key).encode()).decode().rstrip("=")
    return request.build_absolute_uri(f"{request.path}?{query.urlencode()}")


def read_cursor(text: str, *, least: int = 1 - 2**63, below: int = 2**63) -> int:
    """Return the key of a cursor, 0 for none.

    Args:
        text: The cursor.
        least: The smallest key of the list.
        below: A number above every key.

    Raises:
        Refused: 422 for an invalid cursor.
    """
    if not text:
        return 0
    try:
        key = json.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))
    except (ValueError, binascii.Error, RecursionError):
        key = None
    if not isinstance(key, int) or isinstance(key, bool) or not least <= key < below:
        detail = "is not a cursor of this list; begin again without one"
        raise Refused(422, f"cursor: {detail}", [FieldProblem(field="cursor", detail=detail)])
    return key


def _encode_lines(
    rows: QuerySet[Row], shown: Callable[[Sequence[Row]], Iterable[Any]], key: str
) -> Iterator[str]:
    last = None
    while block := list((rows if last is None else rows.filter(**{f"{key}__gt": last}))[:CHUNK]):
        yield "".join(f"{_encode_json(row)}\n" for row in shown(block))
        last = getattr(block[-1], key)
