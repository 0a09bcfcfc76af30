"""Types of options that several commands share, and printing of results."""

import json
import sys
from collections.abc import Iterable, Sequence
from typing import Annotated, Any, Literal, TypeAlias

from cyclopts import Parameter, Token
from cyclopts.validators import Number

Count: TypeAlias = Annotated[int, Parameter(validator=Number(gte=0))]
Mode: TypeAlias = Literal["live", "pilot", "bot"]
Positive: TypeAlias = Annotated[int, Parameter(validator=Number(gte=1))]

Level: TypeAlias = Annotated[float, Parameter(validator=Number(gt=0, lte=0.5))]
OpenShare: TypeAlias = Annotated[float, Parameter(validator=Number(gt=0, lt=1))]
Share: TypeAlias = Annotated[float, Parameter(validator=Number(gte=0, lte=1))]


def _parse_numbers(_type: object, tokens: Sequence[Token]) -> list[float]:
    try:
        return [float(part) for token in tokens for part in token.value.split(",")]
    except ValueError:
        raise ValueError(f"{tokens[0].value!r} is not a list of numbers such as 0.5,1") from None


def _parse_sizes(_type: object, tokens: Sequence[Token]) -> list[int]:
    sizes = [part for token in tokens for part in token.value.split(",")]
    if not all(part.isdecimal() and int(part) for part in sizes):
        raise ValueError(f"{tokens[0].value!r} is not a list of whole numbers of at least 1, such as 20,40")
    return [int(part) for part in sizes]


Numbers: TypeAlias = Annotated[
    Sequence[float], Parameter(converter=_parse_numbers, n_tokens=1, allow_leading_hyphen=True)
]
Sizes: TypeAlias = Annotated[Sequence[int], Parameter(converter=_parse_sizes, n_tokens=1)]


def print_json(result: Any, notes: Iterable[str] = ()) -> None:
    """Print a result as JSON, and notes for people on standard error."""
    sys.stderr.writelines(f"note: {note}\n" for note in notes)
    sys.stdout.write(json.dumps(result, indent=2, ensure_ascii=False) + "\n")
