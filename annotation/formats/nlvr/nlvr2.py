"""Read NLVR2: sentences about image pairs (Suhr et al. 2019).

They are true or false.

Files hold JSON lines, or a list of the same objects. The images are not part of the release. `programs`
adds programs to items.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict

from annotation.content.schemas import Image, ItemRecord
from annotation.formats.checks import check_record
from annotation.formats.images import ImageFolder
from annotation.formats.source import Source
from foundation.errors import BadFile
from foundation.imports.findings import Findings
from foundation.imports.import_fields import Id, LongText
from foundation.imports.json_stream import read_values


def _parse_truth(value: Any) -> Any:
    """Parse "True" and "False" of the release; later sets have booleans."""
    return (
        value.lower() == "true"
        if str(value).lower() in ("true", "false") and isinstance(value, str)
        else value
    )


Label = Annotated[bool | None, BeforeValidator(_parse_truth)]


class Example(BaseModel):
    """One example of a file. ``model_extra`` keeps its other fields."""

    model_config = ConfigDict(extra="allow", frozen=True)

    identifier: Id
    sentence: LongText
    label: Label = None
    left_url: str = ""
    right_url: str = ""

    def rest(self) -> dict[str, Any]:
        """Return the fields that an item lacks."""
        return {"left_url": self.left_url, "right_url": self.right_url, **(self.model_extra or {})}

    def images(self, folder: ImageFolder | None) -> tuple[Image, Image]:
        """Return the left and the right image.

        They have the name of a local URL, or else the name in the release.

        Raises:
            ValueError: A folder is given and an image is not in it.
            BadFile: The file is not an image.
        """
        named = (self._name(self.left_url, 0), self._name(self.right_url, 1))
        left, right = (Image(name=name) if folder is None else folder.find(name) for name in named)
        return left, right

    def _name(self, url: str, side: int) -> str:
        if url and (url.startswith("file:") or "://" not in url):
            return url
        # A pair has one identifier without its last number: dev-850-0-0 and dev-850-0-1 share their images.
        return f"{'-'.join(self.identifier.split('-')[:3])}-img{side}.png"


def read_examples(
    path: Path, *, findings: Findings | None = None, on_progress: Callable[[int], None] | None = None
) -> Iterator[tuple[int, Example]]:
    """Yield (line, example).

    Raises:
        BadFile: Names line and field.
    """
    findings = findings if findings is not None else Findings()
    for element in read_values(path, on_progress=on_progress, on_error=findings.on_error):
        try:
            example = Example.model_validate(element.value)
        except ValueError as error:
            findings.refuse(error, path, element=element)
        else:
            yield element.line, example


def read_nlvr2(source: Source, programs: Mapping[str, str] | None = None) -> Iterator[ItemRecord]:
    """Yield an item for each example, without gold.

    ``programs`` has nested texts by identifier or by sentence in lower case (`programs.read_programs`).
    Without images their sizes stay unknown.

    Raises:
        BadFile: Names line and field.
    """
    by_key = programs or {}
    path, findings = source.path, source.findings
    for line, example in read_examples(path, findings=findings, on_progress=source.on_progress):
        program = by_key.get(example.identifier) or by_key.get(example.sentence.strip().lower(), "")
        try:
            findings.note_entry(example.identifier, path, line=line, field="identifier")
            pair = example.images(source.images)
            record = check_record(
                ItemRecord(
                    external_id=example.identifier,
                    kind="boxes",
                    program=program,
                    text=example.sentence,
                    images=pair,
                    answer=example.label,
                    extra={"nlvr2": example.rest()},
                )
            )
        except (ValueError, BadFile) as error:  # BadFile of an image
            findings.refuse(error, path, line=line, entry=example.identifier)
        else:
            yield record
