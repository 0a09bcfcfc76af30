"""Reports as sections of text, tables and figures, on one HTML page."""

import base64
import hashlib
import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

import jinja2
from markupsafe import Markup

from ..io.errors import InputError
from ..io.spreadsheet import format_csv
from ..io.whole_files import replace_file
from .codebook import CsvFile, build_tables_schema
from .provenance import source_of
from .tables import Table

MANIFEST = "files.json"
SCHEMA = "tables/schema.json"

ALL_FORMS = ("svg", "pdf", "png")
# Papers want all three, a page SVG alone; fonts of PDF files take a third of a report's time.
FORMS = tuple(
    form
    for form in ALL_FORMS
    if form == "svg" or form in os.environ.get("TOUCHSTONE_FIGURES", "pdf png").split()
)


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
        svg: A whole SVG document, as the page shows it.
        alternative: Description for readers who cannot see the figure.
        half: Narrow enough to stand beside another figure.
        prints: Draws the files for papers, name after ``figures/`` to content; None for the SVG alone.
    """

    name: str
    caption: str
    alternative: str
    svg: str
    half: bool = False
    prints: "Callable[[str], Mapping[str, bytes]] | None" = None

    def files(self) -> Iterator[tuple[str, bytes]]:
        """Name and content of every file of the figure."""
        printed = self.prints(self.name) if self.prints else {f"{self.name}.svg": self.svg.encode()}
        for name, data in printed.items():
            yield f"figures/{name}", data


@dataclass(frozen=True)
class Data:
    """A table in full precision that the page only links to."""

    name: str
    words: str
    header: Sequence[str]
    rows: Sequence[Sequence[object]]

    @property
    def csv_file(self) -> CsvFile:
        """The table as its CSV file holds it."""
        return CsvFile(self.name, self.words, self.header, self.rows)


@dataclass(frozen=True)
class Script:
    """A program that the page only links to, by the name of its file."""

    name: str
    words: str
    text: str


@dataclass(frozen=True)
class Card:
    """An answer of the first screen: a question, sentences, and a figure."""

    title: str
    points: Sequence[str]
    figure: Figure | None = None


@dataclass(frozen=True)
class Cards:
    """Answers side by side."""

    cards: Sequence[Card]


@dataclass(frozen=True)
class Details:
    """Blocks that the page shows on request, and always in print."""

    title: str
    blocks: Sequence["Block"]


Block = Text | Points | Table | Figure | Data | Script | Cards | Details


def flatten_blocks(blocks: Iterable[Block]) -> Iterator[Block]:
    """Yield blocks and the blocks and figures within them, in order."""
    for block in blocks:
        yield block
        if isinstance(block, Details):
            yield from flatten_blocks(block.blocks)
        elif isinstance(block, Cards):
            yield from (card.figure for card in block.cards if card.figure)


@dataclass(frozen=True)
class Section:
    """A part of the report with its own heading.

    Attributes:
        lead: Sentence beside the heading of a part that can be closed; None for a part that cannot.
        is_open: A part that can be closed is open at first.
    """

    name: str
    title: str
    blocks: Sequence[Block]
    lead: str | None = None
    is_open: bool = True


@dataclass(frozen=True)
class Page:
    """A whole report.

    Attributes:
        title: Title of the page.
        banner: Warning above everything; empty for none.
        facts: Names and values below the title.
        sections: The sections in order.
    """

    title: str
    banner: str
    facts: Mapping[str, str]
    sections: Sequence[Section]

    @property
    def blocks(self) -> Iterator[Block]:
        """Yield the blocks of every section, and those within them."""
        return flatten_blocks(block for section in self.sections for block in section.blocks)

    def files(self) -> Iterator[tuple[str, bytes]]:
        """Yield the files beside the page.

        Yields:
            Path below the folder of the page, and content.
        """
        for block in self.blocks:
            match block:
                case Table() | Data():
                    file = block.csv_file
                    yield f"tables/{block.name}.csv", format_csv(file.header, file.rows).encode()
                    if isinstance(block, Table):
                        yield f"tables/{block.name}.tex", block.latex().encode()
                case Script():
                    yield block.name, block.text.encode()
                case Figure():
                    yield from block.files()
        tables = [block.csv_file for block in self.blocks if isinstance(block, Table | Data)]
        if tables:
            yield SCHEMA, build_tables_schema(tables).encode()


def _read_template(name: str) -> str:
    return (Path(__file__).parent / "templates" / name).read_text("utf-8")


SORTING = _read_template("report.js")  # the only script of the page, which works without it
SORTING_HASH = "sha256-" + base64.b64encode(hashlib.sha256(SORTING.encode()).digest()).decode()


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
    environment.filters["side_by_side"] = _side_by_side
    environment.globals["forms"] = FORMS
    environment.globals["script"] = Markup(SORTING)
    for kind in (Table, Figure, Points, Script, Data, Cards, Details):
        environment.tests[kind.__name__.lower()] = lambda block, kind=kind: isinstance(block, kind)
    return environment.get_template("report.html").render(page=page)


def _side_by_side(blocks: Sequence[Block]) -> Iterator[tuple[bool, Iterator[Block]]]:
    """Group neighbours; True for figures that stand side by side."""
    return groupby(blocks, lambda block: isinstance(block, Figure) and block.half)


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

    Args:
        page: Report to write.
        out: Folder of the report.

    Returns:
        The paths, report first.

    Raises:
        InputError: The folder cannot be written.
    """
    files = {"report.html": render(page).encode(), **dict(page.files())}
    listed = {name: hashlib.sha256(data).hexdigest() for name, data in sorted(files.items())}
    try:
        for name in _find_earlier_files(out) - files.keys():
            (out / name).unlink(missing_ok=True)
        for name, data in files.items():
            replace_file(out / name, data)
        replace_file(out / MANIFEST, (json.dumps({"sha256": listed}, indent=1) + "\n").encode())
    except OSError as error:
        raise InputError(out, f"cannot be written: {error.strerror}") from None
    return [out / name for name in files]


def _find_earlier_files(out: Path) -> set[str]:
    """Return the files that an earlier report wrote here.

    Only names of the forms that a report uses count.
    """
    try:
        names = json.loads((out / MANIFEST).read_text("utf-8"))["sha256"]
    except (FileNotFoundError, ValueError, KeyError, TypeError):
        return set()
    return {
        name
        for name in names
        if re.fullmatch(r"(tables|figures|figures/chi)/[\w-]+\.(csv|json|tex|svg|png|pdf)|[\w-]+\.R", name)
    }
