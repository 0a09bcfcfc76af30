"""List the formats of items, gold and annotations to read or write."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from itertools import chain, islice
from pathlib import Path

from annotation.content.label_programs import is_label_text
from annotation.content.schemas import ItemRecord, Kind
from annotation.errors import Conflict
from annotation.formats.coco import read_coco, write_coco
from annotation.formats.counterfactuals import read_reasons, write_reasons
from annotation.formats.drop import read_drop, write_drop
from annotation.formats.faithful_nmn import read_faithful_nmn, write_faithful_nmn
from annotation.formats.flat import write_brat, write_parquet, write_w3c
from annotation.formats.jsonl import read_jsonl, write_jsonl
from annotation.formats.label_studio import read_label_studio, write_label_studio
from annotation.formats.labelled import LABELLED_READERS, LABELLED_WRITERS, read_labelled
from annotation.formats.labelled.label_studio import has_programs
from annotation.formats.labelled.losses import note_losses
from annotation.formats.nlvr import read_nlvr, read_nlvr2
from annotation.formats.plain import read_plain
from annotation.formats.programs import read_programs
from annotation.formats.source import Source
from annotation.formats.writing import write_folder
from foundation.imports.findings import Findings
from foundation.messages import extract_message, value_error

NO_PROGRAM = "item without a program, left out"


def _read_with_programs(
    read: Callable[[Source, Mapping[str, str]], Iterator[ItemRecord]], kind: Kind, source: Source
) -> Iterator[ItemRecord]:
    given = source.programs
    return read(source, read_programs(given, kind=kind, findings=source.findings) if given else {})


def _read_any_label_studio(source: Source) -> Iterator[ItemRecord]:
    if source.task or not has_programs(source.path):
        return read_labelled(LABELLED_READERS["labelstudio"], source)
    return read_label_studio(source)


def _read_any_coco(source: Source) -> Iterator[ItemRecord]:
    if source.task or source.plain:
        return read_labelled(LABELLED_READERS["coco"], source)
    return read_coco(source)


READERS: dict[str, Callable[[Source], Iterator[ItemRecord]]] = {
    **{name: partial(read_labelled, reader) for name, reader in LABELLED_READERS.items()},
    "jsonl": read_jsonl,
    "nlvr": read_nlvr,
    "nlvr2": partial(_read_with_programs, read_nlvr2, "boxes"),
    "drop": partial(_read_with_programs, read_drop, "spans"),
    "faithful-nmn": read_faithful_nmn,
    "labelstudio": _read_any_label_studio,
    "coco": _read_any_coco,
    "reasons": read_reasons,
    "plain": read_plain,
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
            source.findings.note_repair(NO_PROGRAM, record.external_id)


def _write_faithful_nmn(records: Iterable[ItemRecord], folder: Path) -> None:
    with write_folder(folder) as draft:
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
# Formats of several files: those written into a folder, and those read from one, with the ends of their
# files besides images; the empty set stands for any.
FOLDERS = {"faithful-nmn", "brat", "webanno", "yolo", "voc", "eraser"}
READ_FOLDERS: dict[str, set[str]] = {
    "brat": {".txt", ".ann", ".conf", ".json"},
    "conll": {".conll", ".tsv", ".txt", ".iob", ".bio"},
    "cvat": {".xml"},
    "eraser": set(),
    "voc": {".xml"},
    "w3c": {".json", ".jsonld", ".txt"},
    "webanno": {".tsv"},
    "yolo": {".txt", ".yaml", ".yml", ".names", ".data"},
}

PLAIN_WRITERS = {"jsonl": write_jsonl, **LABELLED_WRITERS}
WRITER_NAMES = tuple(dict.fromkeys([*WRITERS, *PLAIN_WRITERS]))


def write(name: str, records: Iterable[ItemRecord], out: Path, *, findings: Findings | None = None) -> None:
    """Write records to a file or folder; all have programs, or a plain task.

    ``findings`` take what the format cannot hold of a plain task.

    Raises:
        Conflict: The format cannot hold them.
    """
    findings = findings if findings is not None else Findings()
    stream = iter(records)
    first = list(islice(stream, 1))
    is_plain = bool(first) and is_label_text(first[0].program)
    writers = PLAIN_WRITERS if is_plain or name not in WRITERS else WRITERS
    try:
        if is_plain and name not in PLAIN_WRITERS:
            text = "%(name)s cannot hold the labels of a plain task; use %(formats)s"
            raise value_error(text, name=name, formats=", ".join(sorted(PLAIN_WRITERS)))
        if first and not is_plain and name not in WRITERS:
            text = "%(name)s cannot hold programs; use %(formats)s"
            raise value_error(text, name=name, formats=", ".join(sorted(WRITERS)))
        records = chain(first, stream)
        writers[name](note_losses(name, records, findings) if is_plain else records, out)
    except (ValueError, FileExistsError) as error:
        raise Conflict(extract_message(error)) from error
