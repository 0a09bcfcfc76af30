"""NLVR2 examples: a sentence about an image pair, true or false (Suhr et al. 2019).

JSON lines, or a list of the same objects. The pictures are not part of the release. Items without a program
come in without one: `programs` brings those that are known.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, ValidationError

from annotation.formats.checks import check_record
from annotation.formats.images import ImageFolder
from annotation.schemas import Image, ItemRecord
from foundation.errors import BadFile
from foundation.import_fields import Id, LongText, first_error
from foundation.json_stream import read_values


def _truth(value: Any) -> Any:
    """The release writes labels as "True" and "False"; later sets as true and false."""
    return (
        value.lower() == "true"
        if str(value).lower() in ("true", "false") and isinstance(value, str)
        else value
    )


Label = Annotated[bool | None, BeforeValidator(_truth)]


class Example(BaseModel):
    """One example as the files have it. What else they say is kept in ``model_extra``."""

    model_config = ConfigDict(extra="allow", frozen=True)

    identifier: Id
    sentence: LongText
    label: Label = None
    left_url: str = ""
    right_url: str = ""

    def rest(self) -> dict[str, Any]:
        """What an item has no field for."""
        return {"left_url": self.left_url, "right_url": self.right_url, **(self.model_extra or {})}

    def images(self, folder: ImageFolder | None) -> tuple[Image, Image]:
        """The left and the right picture: where the URL names a local file, that; else the release's name.

        Raises ValueError or BadFile where a folder is given and the picture is not in it.
        """
        named = (self._name(self.left_url, 0), self._name(self.right_url, 1))
        left, right = (Image(name=name) if folder is None else folder.find(name) for name in named)
        return left, right

    def _name(self, url: str, side: int) -> str:
        if url and (url.startswith("file:") or "://" not in url):
            return url
        # A pair has one identifier without its last number: dev-850-0-0 and dev-850-0-1 share their pictures.
        return f"{'-'.join(self.identifier.split('-')[:3])}-img{side}.png"


def read_examples(path: Path, *, told: Callable[[int], None] | None = None) -> Iterator[tuple[int, Example]]:
    """Yield (line, example). Raises BadFile with line and field, also for an identifier that comes twice."""
    seen: dict[str, int] = {}
    for line, value in read_values(path, told=told):
        try:
            example = Example.model_validate(value)
        except ValidationError as error:
            raise BadFile(path, first_error(error), line=line) from error
        if example.identifier in seen:
            message = f"identifier: {example.identifier!r} is that of line {seen[example.identifier]}"
            raise BadFile(path, message, line=line)
        seen[example.identifier] = line
        yield line, example


def read_nlvr2(
    path: Path,
    *,
    images: ImageFolder | None = None,
    programs: Mapping[str, str] | None = None,
    told: Callable[[int], None] | None = None,
) -> Iterator[ItemRecord]:
    """Yield an item for each example, without gold.

    images: the folder of the pictures; without one their sizes stay unknown. programs: nested text by
    identifier or by sentence in lower case (`programs.read_programs`). Raises BadFile.
    """
    known = programs or {}
    for line, example in read_examples(path, told=told):
        program = known.get(example.identifier) or known.get(example.sentence.strip().lower(), "")
        try:
            pair = example.images(images)
            record = ItemRecord(
                external_id=example.identifier,
                kind="boxes",
                program=program,
                text=example.sentence,
                images=pair,
                answer=example.label,
                extra={"nlvr2": example.rest()},
            )
            yield check_record(record)
        except ValueError as error:
            raise BadFile(path, f"{example.identifier}: {error}", line=line) from error
