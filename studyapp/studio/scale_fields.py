"""The fields of a question's scale: its kind, and what that kind needs.

Pure: no Django.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Protocol

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from studyapp.definition.questions.answer_scales import (
    LikertScale,
    MatrixScale,
    MultipleChoice,
    NumberScale,
    RankingScale,
    SingleChoice,
    SliderScale,
    TextField,
)
from studyapp.definition.yaml_document import Location
from studyapp.studio import steps
from studyapp.studio.drafts import find_ends
from studyapp.studio.widgets import Kind, Widget

_SCALES: dict[str, type[BaseModel]] = {
    "likert": LikertScale,
    "single": SingleChoice,
    "multiple": MultipleChoice,
    "number": NumberScale,
    "slider": SliderScale,
    "matrix": MatrixScale,
    "ranking": RankingScale,
    "text": TextField,
}


class Builder(Protocol):
    """Builds the widgets of plain fields."""

    def field(self, info: FieldInfo, location: Location, value: Any) -> Widget:
        """Return the widget of one field of a model."""
        ...

    def fields(self, model: type[BaseModel], location: Location, row: Mapping[str, Any]) -> Iterator[Widget]:
        """Yield the widgets of a model's fields."""
        ...


def fill_scale(build: Builder, widget: Widget, value: Any) -> Widget:
    """Return the kind of answer, and the fields of that kind."""
    fields = value if isinstance(value, dict) else {}
    kind = "yes_no" if not isinstance(value, dict) else str(fields.get("kind", "likert"))
    choice = Widget("select", (*widget.location, "kind"), steps.LABELS["*.scale.kind"], value=kind)
    choice.options, choice.is_worded = [*steps.KINDS.items()], True
    widget.kind, widget.value, widget.children = "scale", kind, [choice]
    if kind == "likert":
        widget.children += _build_rating_fields(build, widget.location, fields)
    elif kind == "matrix":
        widget.children += _build_matrix_fields(build, widget.location, fields)
    elif kind in _SCALES:
        of_kind = build.fields(_SCALES[kind], widget.location, fields)
        widget.children += [child for child in of_kind if child.name != "kind"]
    return widget


def _build_matrix_fields(build: Builder, location: Location, fields: Mapping[str, Any]) -> Iterator[Widget]:
    """Yield the rows, then the rating and the choices, of which one is filled."""
    info, given = MatrixScale.model_fields, fields.get("choices")
    yield build.field(info["rows"], (*location, "rows"), fields.get("rows"))
    for widget in _build_rating_fields(build, location, fields):
        if given and widget.name == "points":
            widget.value = ""
        yield widget
    yield build.field(info["choices"], (*location, "choices"), given)


def _build_rating_fields(build: Builder, location: Location, fields: Mapping[str, Any]) -> Iterator[Widget]:
    ends = find_ends(fields)
    has_other = ends or fields.get("choices") or ("labels" not in fields and fields.get("points", 5) != 5)
    labels = {} if has_other else {"labels": fields.get("labels", LikertScale().labels)}
    yield from build.fields(LikertScale, location, {"points": fields.get("points", 5), **labels})
    for name, end in zip(("low", "high"), ends or ("", ""), strict=True):
        path = (*location, name)
        yield Widget("text", path, steps.lookup(steps.LABELS, path) or name, value=end)


def fill_choices(_build: Builder, widget: Widget, value: Any) -> Widget:
    """Return the choices, one per line."""
    return _fill_lines(widget, "choices", value, ("value", "label"))


def fill_rows(_build: Builder, widget: Widget, value: Any) -> Widget:
    """Return the rows of a matrix, one per line."""
    return _fill_lines(widget, "row_lines", value, ("key", "text"))


def _fill_lines(widget: Widget, kind: Kind, value: Any, names: tuple[str, str]) -> Widget:
    """Return pairs, one per line; ``names`` are their fields in a list."""
    key, text = names
    pairs = (
        value.items()
        if isinstance(value, dict)
        else [
            (row.get(key, ""), row.get(text, ""))
            for row in (value if isinstance(value, list) else [])
            if isinstance(row, dict)
        ]
    )
    widget.kind, widget.value = kind, "\n".join(f"{first} = {second}" for first, second in pairs)
    return widget
