"""Label Studio's labelling configuration of a plain task, as XML."""

from __future__ import annotations

from xml.etree import ElementTree

from annotation.content.labels import MARKS, LabelTask, LayerType, Question
from annotation.content.schemas import Kind

# The control of each type, and the element of its labels.
_CONTROLS: dict[LayerType, tuple[str, str]] = {
    "spans": ("Labels", "Label"),
    "boxes": ("RectangleLabels", "Label"),
    "polygons": ("PolygonLabels", "Label"),
    "ellipses": ("EllipseLabels", "Label"),
    "points": ("KeyPointLabels", "Label"),
    "relations": ("Relations", "Relation"),
    "choice": ("Choices", "Choice"),
    "choices": ("Choices", "Choice"),
    "text": ("TextArea", ""),
    "rating": ("Rating", ""),
}


def build_labelling_config(task: LabelTask, kind: Kind, images: int = 1) -> str:
    """Return the configuration of a project's items.

    Args:
        task: The plain task.
        kind: Texts or images.
        images: The highest number of images of an item.
    """
    view = ElementTree.Element("View")
    names = list_object_names(kind, images)
    for name in names:
        ElementTree.SubElement(view, "Text" if kind == "spans" else "Image", name=name, value=f"${name}")
    for layer in task.layers:
        _add_control(view, layer, names)
        for question in layer.questions:
            _add_control(view, question, names, perRegion="true", whenTagName=layer.name)
    return ElementTree.tostring(view, encoding="unicode")


def list_object_names(kind: Kind, images: int) -> list[str]:
    """Return the names of an item's text or images in a task's data."""
    if kind == "spans":
        return ["text"]
    return ["image"] if images < 2 else [f"image{index}" for index in range(images)]


def _add_control(view: ElementTree.Element, asked: Question, names: list[str], **attributes: str) -> None:
    tag, inner = _CONTROLS[asked.type]
    if asked.type != "relations":
        attributes = {"name": asked.name, "toName": ",".join(names)} | attributes
    if asked.type in ("choice", "choices"):
        attributes["choice"] = "single" if asked.type == "choice" else "multiple"
    if asked.type == "rating":
        attributes["maxRating"] = str(asked.highest)
    if asked.required and asked.type not in (*MARKS, "relations"):
        attributes["required"] = "true"
    control = ElementTree.SubElement(view, tag, attributes)
    for label in asked.labels:
        background = {"background": label.color} if label.color and inner == "Label" else {}
        ElementTree.SubElement(control, inner, {"value": label.name, **background})
