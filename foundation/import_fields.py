"""Field types of imported files, and the message of an error in one."""

from typing import Annotated

from pydantic import AfterValidator, Field, NonNegativeInt, ValidationError
from pydantic_core import PydanticCustomError


def _storable(text: str) -> str:
    """Reject NUL, which PostgreSQL refuses; pydantic rejects lone surrogates."""
    if "\0" in text:
        raise PydanticCustomError("nul", "holds the character NUL, which cannot be stored")
    return text


Text = Annotated[str, Field(strict=True), AfterValidator(_storable)]
Id = Annotated[str, Field(strict=True, min_length=1, max_length=200), AfterValidator(_storable)]
LongText = Annotated[str, Field(strict=True, min_length=1, max_length=10_000), AfterValidator(_storable)]
Label = Annotated[str, Field(strict=True, max_length=40), AfterValidator(_storable)]
Index = Annotated[NonNegativeInt, Field(strict=True)]


def message_of(error: ValueError) -> str:
    """Return the message of an error in a value, also of pydantic's."""
    return first_error(error) if isinstance(error, ValidationError) else str(error)


def first_error(error: ValidationError) -> str:
    """Return the first error as ``context[3][1]: message``."""
    field, message = all_errors(error)[0]
    return f"{field}: {message}"


def all_errors(error: ValidationError) -> list[tuple[str, str]]:
    """Return every error as a field, such as ``context[3][1]``, and a message."""
    return [
        (
            "".join(
                f"[{part}]" if isinstance(part, int) else f".{part}" for part in each["loc"]
            ).removeprefix("."),
            "is missing" if each["type"] == "missing" else each["msg"],
        )
        for each in error.errors(include_url=False, include_input=False)
    ]
