"""Field types of imported files, and the message of an error in one."""

from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Annotated, Any

from pydantic import AfterValidator, Field, NonNegativeInt, ValidationError
from pydantic_core import PydanticCustomError

from foundation.blank_texts import is_blank
from foundation.messages import prefix_field, say
from foundation.validation_messages import FORMS, describe_error

KINDS = {"bool", "int", "float", "str", "constrained-str"}  # that pydantic adds to the place of an error
SHOWN = 40  # characters of a value in a message


def _check_storable(text: str) -> str:
    """Reject NUL and lone surrogates, which databases refuse."""
    if "\0" in text:
        raise PydanticCustomError("nul", FORMS["nul"])
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise PydanticCustomError("surrogate", FORMS["surrogate"]) from error
    return text


def _check_not_blank(text: str) -> str:
    """Reject text that shows nothing."""
    if is_blank(text):
        raise PydanticCustomError("blank", FORMS["blank"])
    return text


Text = Annotated[str, Field(strict=True), AfterValidator(_check_storable)]
Filled = Annotated[Text, Field(min_length=1), AfterValidator(_check_not_blank)]  # that shows a character
Id = Annotated[str, Field(strict=True, min_length=1, max_length=200), AfterValidator(_check_storable)]
LongText = Annotated[
    str, Field(strict=True, min_length=1, max_length=10_000), AfterValidator(_check_storable)
]
Label = Annotated[str, Field(strict=True, max_length=40), AfterValidator(_check_storable)]
Index = Annotated[NonNegativeInt, Field(strict=True)]


def format_first_error(error: ValidationError) -> str:
    """Return the first error as ``context[3][1]: message``."""
    _path, field, message = list_errors(error)[0]
    return prefix_field(field, message) if field else message


def list_errors(error: ValidationError) -> list[tuple[tuple[str | int, ...], str, str]]:
    """Return path, field (``context[3][1]``) and message of each error."""
    return [
        (
            problem["loc"],
            "".join(
                f"[{part}]" if isinstance(part, int) else f".{part}" for part in problem["loc"]
            ).removeprefix("."),
            _describe_problem(problem),
        )
        for problem in _merge_union_errors(error.errors(include_url=False))
    ]


def _merge_union_errors(errors: Iterable[Any]) -> Iterator[Any]:
    """Yield one error of a value for which pydantic tried several kinds."""
    for location, tried in groupby(errors, key=_drop_kind):
        first, *others = tried
        if not others or first["loc"] == location:
            yield from (first, *others)
        else:
            precise = (problem for problem in others if not problem["type"].endswith(("_type", "_parsing")))
            yield next(precise, {**first, "type": "scalar_type"}) | {"loc": location}


def _drop_kind(error: Any) -> tuple[str | int, ...]:
    location: tuple[str | int, ...] = error["loc"]
    return location[:-1] if location and location[-1] in KINDS else location


def _describe_problem(error: Any) -> str:
    if error["type"] == "missing":
        return say("is missing; add it")
    if error["type"] == "extra_forbidden":
        return describe_error(error)
    # Definitions are YAML, which needs quotes around a number that is text; files of data are seldom YAML.
    problem = say(FORMS["string_type"]) if error["type"] == "string_type" else describe_error(error)
    return say("%(problem)s; found %(value)s", problem=problem, value=describe_value(error["input"]))


def describe_value(value: object) -> str:
    """Return a value of a file in a few words."""
    if isinstance(value, dict):
        return say("an object")
    if isinstance(value, list | tuple):
        return say("a list of %(length)s", length=len(value))
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, int) and value.bit_length() > 4 * SHOWN:
        return say("a huge number")  # of which Python refuses to write the digits
    text = value.decode(errors="replace") if isinstance(value, bytes) else value
    return repr(f"{text[:SHOWN]}…" if isinstance(text, str) and len(text) > SHOWN else text)
