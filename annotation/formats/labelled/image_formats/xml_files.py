"""XML files without a document type, and their elements."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

from foundation.errors import BadFile
from foundation.imports.text_files import read_text
from foundation.messages import say


def parse_xml(path: Path) -> ElementTree.Element:
    """Parse an XML file that declares no document type, so no entities.

    Raises:
        BadFile: It is not such a file.
    """
    text = read_text(path)
    if "<!DOCTYPE" in text or "<!ENTITY" in text:
        raise BadFile(path, say("declares a document type; remove it"), line=1)
    try:
        return ElementTree.fromstring(text)  # noqa: S314 - without a document type there are no entities
    except (ElementTree.ParseError, ValueError) as error:
        line = getattr(error, "position", (1, 0))[0]
        raise BadFile(path, say("this is not XML: %(problem)s", problem=str(error)), line=line) from error


def add_element(
    parent: ElementTree.Element, tag: str, /, text: object = None, **attributes: str
) -> ElementTree.Element:
    """Add an element with a text and attributes, and return it."""
    child = ElementTree.SubElement(parent, tag, attributes)
    child.text = None if text is None else str(text)
    return child
