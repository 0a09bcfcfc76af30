"""Read a draft, complete or not, from a YAML file.

Pure: no Django.
"""

from collections.abc import Iterator
from datetime import date
from typing import Any

from pydantic import ValidationError

from foundation.messages import say
from foundation.validation_messages import describe_error
from studyapp.definition.schema import StudyDefinition
from studyapp.definition.yaml_document import (
    MAX_PROBLEMS,
    Location,
    build_located_error,
    locate_errors,
    read_document,
)
from studyapp.studio.drafts import Draft

_CONTAINERS = ("list_type", "dict_type", "model_type", "model_attributes_type")


def read_draft(text: str, name: str) -> Draft:
    """Read a draft, possibly incomplete, from the text of a YAML file.

    Raises:
        DefinitionError: it is no YAML, names no study, has more than MAX_PROBLEMS problems, or has what no
            draft has: a field that there is not, a list or a mapping in place of one value or the other way
            round, a value that is not to be kept.
    """
    node, data = read_document(text, name)
    if not isinstance(data, dict):
        raise build_located_error(name, node, [((), say("must be a mapping of fields"))])
    try:
        return StudyDefinition.model_validate(data).model_dump(mode="json")
    except ValidationError as error:
        details = error.errors(include_url=False)[:MAX_PROBLEMS]
        wrong = list(zip(locate_errors(node, details), details, strict=True))
        # Beyond so many problems nobody knows if the others are of shape; the error lists these.
        shown = wrong if error.error_count() > MAX_PROBLEMS else _select_shape_problems(wrong)
        problems = [(location, describe_error(error_detail)) for location, error_detail in shown]
        if problems:
            raise build_located_error(name, node, list(dict.fromkeys(problems))) from error
    return _format_dates(data)


def _select_shape_problems(wrong: list[tuple[Location, Any]]) -> Iterator[tuple[Location, Any]]:
    """Return the problems of shape.

    Of several shapes that a field may have, one that fits to some depth is meant.
    """
    for location, detail in wrong:
        others = [
            (other_location, other)
            for other_location, other in wrong
            if other_location[: len(location)] == location
        ]
        if all(
            len(other_location) == len(location) and _is_shape(other_location, other)
            for other_location, other in others
        ):
            yield location, detail


def _is_shape(location: Location, detail: Any) -> bool:
    kind, holds_parts = detail["type"], isinstance(detail["input"], dict | list)
    if location == ("study",) or kind in ("extra_forbidden", *_CONTAINERS) or kind.startswith("union_tag"):
        return True
    return holds_parts and (kind.endswith(("_type", "_parsing")) or kind == "literal_error")


def _format_dates(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _format_dates(child) for name, child in value.items()}
    if isinstance(value, list):
        return [_format_dates(child) for child in value]
    return value.isoformat() if isinstance(value, date) else value
