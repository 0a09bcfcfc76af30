"""Reports as sections of text, tables and figures, on one HTML page."""

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import jinja2
from markupsafe import Markup

from ..io.errors import InputError
from ..io.whole_files import replace_file
from .provenance import source_of
from .tables import Table, csv_text

MANIFEST = "files.json"


@dataclass(frozen=True)
class Text:
    """A paragraph; `kind` is "" or "note"."""

    text: str
    kind: str = ""


@dataclass(frozen=True)
class Points:
    """A list of sentences."""

    items: Sequence[str]


@dataclass(frozen=True)
class Figure:
    """A figure.

    Attributes:
        svg: A whole SVG document.
        alternative: Description for readers who cannot see the figure.
        half: Narrow enough to stand beside another figure.
        png: The same as an image; empty if there is none.
    """

    name: str
    caption: str
    alternative: str
    svg: str
    half: bool = False
    png: bytes = b""


@dataclass(frozen=True)
class Data:
    """A table in full precision that the page only links to."""

    name: str
    words: str
    header: Sequence[str]
    rows: Sequence[Sequence[object]]


@dataclass(frozen=True)
class Script:
    """A program that the page only links to, by the name of its file."""

    name: str
    words: str
    text: str


Block = Text | Points | Table | Figure | Data | Script


@dataclass(frozen=True)
class Section:
    """A part of the report with its own heading."""

    name: str
    title: str
    blocks: Sequence[Block]


@dataclass(frozen=True)
class Page:
    """A whole report.

    Attributes:
        banner: Warning above everything; empty for none.
        facts: Names and values below the title.
    """

    title: str
    banner: str
    facts: Mapping[str, str]
    sections: Sequence[Section]

    def files(self) -> Iterator[tuple[str, bytes]]:
        """Name and content of every file beside the page."""
        for block in (block for section in self.sections for block in section.blocks):
            match block:
                case Table():
                    yield f"tables/{block.name}.csv", block.csv().encode()
                    yield f"tables/{block.name}.tex", block.latex().encode()
                case Data():
                    yield f"tables/{block.name}.csv", csv_text(block.header, block.rows).encode()
                case Script():
                    yield block.name, block.text.encode()
                case Figure():
                    yield f"figures/{block.name}.svg", block.svg.encode()
                    if block.png:
                        yield f"figures/{block.name}.png", block.png


def render(page: Page) -> str:
    """Render the page as one HTML document that needs nothing else."""
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader(__package__),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    environment.filters["inline_svg"] = inline_svg
    environment.globals["source_of"] = source_of
    for kind in (Table, Figure, Points, Script, Data):
        environment.tests[kind.__name__.lower()] = lambda block, kind=kind: isinstance(block, kind)
    return environment.get_template("report.html").render(page=page)


def inline_svg(figure: Figure) -> Markup:
    """Return the SVG element for use within HTML.

    The ids get a prefix of the figure, and the alternative text becomes the label.
    """
    svg = figure.svg[figure.svg.index("<svg") :]
    prefix = f"{figure.name}-"
    svg = re.sub(r'\bid="', f'id="{prefix}', svg)
    svg = re.sub(r'(href="#|url\(#)', rf"\g<1>{prefix}", svg)
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    label = jinja2.filters.do_forceescape(figure.alternative)
    return Markup(svg.replace("<svg", f'<svg role="img" aria-label="{label}"', 1))


def write_page(page: Page, out: Path) -> list[Path]:
    """Write a report: page, tables, figures, and their list with hashes.

    Everything is rendered before the first file is written. Files of an earlier report in the folder that
    this one no longer has are removed; other files are not touched.

    Returns:
        The paths, report first.

    Raises:
        InputError: The folder cannot be written.
    """
    files = {"report.html": render(page).encode(), **dict(page.files())}
    listed = {name: hashlib.sha256(data).hexdigest() for name, data in sorted(files.items())}
    try:
        for name in _earlier_files(out) - files.keys():
            (out / name).unlink(missing_ok=True)
        for name, data in files.items():
            replace_file(out / name, data)
        replace_file(out / MANIFEST, (json.dumps({"sha256": listed}, indent=1) + "\n").encode())
    except OSError as error:
        raise InputError(out, f"cannot be written: {error.strerror}") from None
    return [out / name for name in files]


def _earlier_files(out: Path) -> set[str]:
    """Return the files that an earlier report wrote here.

    Only names of the forms that a report uses count.
    """
    try:
        names = json.loads((out / MANIFEST).read_text("utf-8"))["sha256"]
    except (FileNotFoundError, ValueError, KeyError, TypeError):
        return set()
    return {
        name for name in names if re.fullmatch(r"(tables|figures)/[\w-]+\.(csv|tex|svg|png)|[\w-]+\.R", name)
    }
