"""The fields that a browser sends of an unchanged form of the studio."""

from studyapp.studio.widgets import Widget


def sent(widgets: list[Widget]) -> dict[str, list[str]]:
    fields: dict[str, list[str]] = {}
    for widget in (child for top in widgets for child in top.all()):
        match widget.kind:
            case "check":
                if widget.value:
                    fields[widget.path] = ["on"]
            case "answers":
                if widget.value:
                    fields[widget.path] = list(widget.value)
            case "select" | "source" | "answer" | "pick":
                offered = [value for value, _label in widget.options]
                assert widget.value in offered, (widget.path, widget.value, offered)
                fields[widget.path] = [widget.value]
            case "text" | "area" | "number" | "date" | "lines" | "choices" | "row_lines" | "image":
                fields[widget.path] = [str(widget.value).replace("\n", "\r\n")]
    return fields
