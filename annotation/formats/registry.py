"""List the formats of items, gold and annotations to read or write."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from annotation.errors import Conflict
from annotation.formats.coco import read_coco, write_coco
from annotation.formats.counterfactuals import read_reasons, write_reasons
from annotation.formats.drop import read_drop, write_drop
from annotation.formats.faithful_nmn import read_faithful_nmn, write_faithful_nmn
from annotation.formats.flat import write_brat, write_parquet, write_w3c
from annotation.formats.images import ImageFolder
from annotation.formats.jsonl import read_jsonl, write_jsonl
from annotation.formats.label_studio import read_label_studio, write_label_studio
from annotation.formats.nlvr import read_nlvr, read_nlvr2
from annotation.formats.plain import read_plain
from annotation.formats.programs import read_programs
from annotation.formats.writing import written_folder
from annotation.labels import is_label_text
from annotation.schemas import ItemRecord, Kind
from foundation.errors import BadFile
from foundation.findings import Findings
from foundation.messages import message_of, say

NO_PROGRAM = "item without a program, left out"


@dataclass(frozen=True)
class Source:
    """A file to read, with its images, programs, and NLVR2 sentences.

    ``task`` and ``kind`` are those of a project with a plain task, which its items get.
    """

    path: Path
    images: ImageFolder | None = None
    programs: Path | None = None
    examples: Sequence[Path] = ()
    task: str = ""
    kind: Kind = "spans"
    findings: Findings = field(default_factory=Findings)
    on_progress: Callable[[int], None] | None = None

    def known_programs(self, kind: Kind) -> dict[str, str] | None:
        """Return programs by identifier or sentence, if there is a file of them."""
        return (
            None if self.programs is None else read_programs(self.programs, kind=kind, findings=self.findings)
        )


def _jsonl(source: Source) -> Iterator[ItemRecord]:
    return read_jsonl(source.path, findings=source.findings, on_progress=source.on_progress)


def _nlvr(source: Source) -> Iterator[ItemRecord]:
    return read_nlvr(
        source.path, images=source.images, findings=source.findings, on_progress=source.on_progress
    )


def _nlvr2(source: Source) -> Iterator[ItemRecord]:
    programs = source.known_programs("boxes")
    return read_nlvr2(
        source.path,
        images=source.images,
        programs=programs,
        findings=source.findings,
        on_progress=source.on_progress,
    )


def _drop(source: Source) -> Iterator[ItemRecord]:
    programs = source.known_programs("spans")
    return read_drop(source.path, programs=programs, findings=source.findings, on_progress=source.on_progress)


def _faithful_nmn(source: Source) -> Iterator[ItemRecord]:
    if source.programs is None or not source.examples:
        raise BadFile(
            source.path,
            say(
                "faithful-nmn needs the table of programs (--programs, or .tsv) and NLVR2 files "
                "(--nlvr2, or .json); upload them together in a zip file"
            ),
            line=1,
        )
    return read_faithful_nmn(
        source.path, source.programs, source.examples, images=source.images, findings=source.findings
    )


def _label_studio(source: Source) -> Iterator[ItemRecord]:
    return read_label_studio(
        source.path, images=source.images, findings=source.findings, on_progress=source.on_progress
    )


def _coco(source: Source) -> Iterator[ItemRecord]:
    return read_coco(source.path, images=source.images, findings=source.findings)


def _reasons(source: Source) -> Iterator[ItemRecord]:
    return read_reasons(source.path, findings=source.findings)


def _plain(source: Source) -> Iterator[ItemRecord]:
    return read_plain(
        source.path,
        kind=source.kind,
        program=source.task,
        images=source.images,
        findings=source.findings,
        on_progress=source.on_progress,
    )


READERS: dict[str, Callable[[Source], Iterator[ItemRecord]]] = {
    "jsonl": _jsonl,
    "nlvr": _nlvr,
    "nlvr2": _nlvr2,
    "drop": _drop,
    "faithful-nmn": _faithful_nmn,
    "labelstudio": _label_studio,
    "coco": _coco,
    "reasons": _reasons,
    "plain": _plain,
}


def read(name: str, source: Source) -> Iterator[ItemRecord]:
    """Yield the items of a file with a program; findings the others.

    Raises:
        BadFile: Names file, line and field.
    """
    for record in READERS[name](source):
        if record.program:
            yield record
        else:
            source.findings.mend(NO_PROGRAM, record.external_id)


def _write_faithful_nmn(records: Iterable[ItemRecord], folder: Path) -> None:
    with written_folder(folder) as draft:
        write_faithful_nmn(records, draft / "boxes.csv", draft / "programs.tsv", draft / "examples.jsonl")


WRITERS: dict[str, Callable[[Iterable[ItemRecord], Path], object]] = {
    "jsonl": write_jsonl,
    "parquet": write_parquet,
    "faithful-nmn": _write_faithful_nmn,
    "drop": write_drop,
    "coco": write_coco,
    "labelstudio": write_label_studio,
    "w3c": write_w3c,
    "brat": write_brat,
    "reasons": write_reasons,
}
FOLDERS = {"faithful-nmn", "brat"}  # formats of several files, written into a folder


# Formats that hold the labels and answers of plain tasks.
PLAIN_WRITERS = {"jsonl"}


def _holding(name: str, records: Iterable[ItemRecord]) -> Iterator[ItemRecord]:
    """Yield the records after checking that the format holds their task."""
    for record in records:
        if name not in PLAIN_WRITERS and is_label_text(record.program):
            formats = ", ".join(sorted(PLAIN_WRITERS))
            raise ValueError(f"{name} cannot hold the labels of a plain task; use {formats}")
        yield record


def write(name: str, records: Iterable[ItemRecord], out: Path) -> None:
    """Write records to a file or folder.

    Raises:
        Conflict: The format cannot hold them.
    """
    try:
        WRITERS[name](_holding(name, records), out)
    except (ValueError, FileExistsError) as error:
        raise Conflict(message_of(error)) from error
