"""Write a study's bundle to a temporary folder and move it into place."""

import json
import os
import shutil
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any
from uuid import uuid4

from foundation.errors import BadFile
from foundation.images.image_files import has_image, read_image
from studyapp.exports import documents, rows
from studyapp.exports.codebook import build_codebook, build_codebook_page, list_table_columns
from studyapp.exports.columns import TABLES
from studyapp.exports.psych_ds import DATA, build_psych_ds, copy_tables
from studyapp.exports.rows import Tally
from studyapp.exports.study_data import StudyData, load_study_data
from studyapp.exports.writers import FORMATS, Format, write_table
from studyapp.models import Mode, Study
from studyapp.queries.running import results
from studyapp.queries.running.results import Row, snapshot

# Files beside the tables that read them, by their name in a bundle.
LOADERS = {f"load.{suffix}": Path(__file__).with_name(f"loader.{suffix}") for suffix in ("py", "R")}
_PLAIN = {
    *("study_version.json", "rules.json", "flow.json", "scores.json", "codebook.json", "codebook.md"),
    "dataset_description.json",
    *LOADERS,
}
# All names that a bundle may hold, in any format: nothing else is ever replaced or removed.
IMAGES = "images"  # a folder, if questions have images
FILES = _PLAIN | {IMAGES, DATA} | {f"{table}.{suffix}" for table in TABLES for suffix in FORMATS}


@dataclass(frozen=True)
class Written:
    """Rows per table, and the reason for each system without any score."""

    rows: dict[str, int]
    missing_scores: dict[str, str]


def write_bundle(
    study: Study,
    out: Path,
    *,
    public: bool = False,
    file_format: Format = "csv",
    modes: Collection[str] = tuple(Mode.values),
    as_psych_ds: bool = False,
    report: Callable[[int, int], None] = lambda done, total: None,
) -> Written:
    """Write the bundle of a study to a folder.

    An earlier bundle of the study in ``out`` is replaced. ``report`` gets the number of tables that are
    written, and that of all. ``modes`` are those of the participants to export. ``as_psych_ds`` also copies
    the tables, which must be CSV, to the folder and names of Psych-DS.

    Raises:
        BadFile: ``out`` exists and is not a bundle of this study, or cannot be written.
        NotFound: the study was never launched.
        AlteredVersion: what a version froze was changed in the database since.
    """
    out = Path(os.path.abspath(out))
    _check_replaceable(out, study.slug)
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        temporary = out.with_name(f".{out.name}-{uuid4().hex}")
        temporary.mkdir()
    except OSError as error:
        raise BadFile(out, f"cannot be written: {error.strerror}") from error
    try:
        with snapshot():
            data = load_study_data(study, public=public, modes=modes)
            written = _write(data, temporary, file_format, report)
        if as_psych_ds:
            copy_tables(temporary, study.slug)
        _swap(temporary, out)
    except OSError as error:
        raise BadFile(out, f"cannot be written: {error.strerror}") from error
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    return written


def _write(data: StudyData, folder: Path, file_format: Format, report: Callable[[int, int], None]) -> Written:
    tally = Tally(data)
    counts: dict[str, int] = {}
    for done, name in enumerate(TABLES):
        report(done, len(TABLES))
        counts[name] = write_table(
            folder / f"{name}.{file_format}",
            list_table_columns(data, name),
            build_table_rows(data, name, tally),
            public=data.public,
        )
    scores, book = documents.build_scores(data), build_codebook(data, tally)
    _write_json(folder / "study_version.json", documents.build_study_version(data))
    _write_json(folder / "rules.json", documents.build_rules(data, tally))
    _write_json(folder / "flow.json", documents.build_flow(data))
    _write_json(folder / "scores.json", scores)
    _write_json(folder / "codebook.json", book)
    (folder / "codebook.md").write_text(build_codebook_page(book), encoding="utf-8")
    _write_json(folder / "dataset_description.json", build_psych_ds(data, book))
    for name, source in LOADERS.items():
        shutil.copyfile(source, folder / name)
    _copy_images(data, folder / IMAGES)
    return Written(counts, documents.find_missing_scores(scores))


def _copy_images(data: StudyData, folder: Path) -> None:
    """Copy the images of questions; one that the site lost is left out."""
    asked = [question for content in data.frozen.values() for question in content.asked]
    for path in sorted({question.image.path for question in asked if question.image}):
        if has_image(path):
            folder.mkdir(exist_ok=True)
            (folder / PurePosixPath(path).name).write_bytes(read_image(path))


def build_table_rows(data: StudyData, name: str, tally: Tally) -> Iterator[Row]:
    """Yield the rows of an exported table.

    Args:
        data: The study.
        name: A key of `TABLES`.
        tally: Counts the trials on the way, for ``rules.json``.
    """
    sources: dict[str, Callable[[], Iterator[Row]]] = {
        "trials": lambda: rows.build_trial_rows(data, tally),
        "participants": lambda: rows.build_participant_rows(data),
        "checks": lambda: rows.build_check_rows(data),
        "stages": lambda: rows.build_stage_rows(data),
        "pre_survey": lambda: rows.build_pre_survey_rows(data),
        "post_survey": lambda: rows.build_post_survey_rows(data),
        "events": lambda: rows.build_event_rows(data),
        "items": lambda: rows.build_item_rows(data),
        "judgements": lambda: iter(results.read_judgement_rows(data.study)),
        "question_scores": lambda: documents.build_question_score_rows(data),
    }
    return sources[name]()


def _write_json(path: Path, document: dict[str, Any]) -> None:
    text = json.dumps(document, ensure_ascii=False, indent=2, allow_nan=False)
    path.write_text(text + "\n", encoding="utf-8")


def _check_replaceable(out: Path, slug: str) -> None:
    """Check that a folder may be replaced.

    It may if it is empty, or a bundle of this study and nothing else.
    """
    if not out.exists() and not out.is_symlink():
        return
    if out.is_symlink() or not out.is_dir():
        raise BadFile(out, "is not a folder; give --out a new name")
    names = {entry.name for entry in out.iterdir()}
    if not names:
        return
    foreign = sorted(names - FILES)
    if foreign:
        raise BadFile(out, f"holds {foreign[0]!r}, which is not part of a bundle; give --out another folder")
    owner = _read_study_slug(out / "study_version.json")
    if owner != slug:
        what = "is not a bundle" if owner is None else f"is the bundle of study {owner!r}"
        raise BadFile(out, f"{what}; give --out another folder")


def _read_study_slug(path: Path) -> str | None:
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    slug = document.get("study") if isinstance(document, dict) else None
    return slug if isinstance(slug, str) else None


def _swap(new: Path, out: Path) -> None:
    """Move ``new`` to ``out``, so that readers find the old or the new bundle.

    Between the two renames there is neither for a moment; if the second fails, the old one is restored.
    """
    old = new.with_name(new.name + ".old")
    replaces = out.exists()
    if replaces:
        out.rename(old)
    try:
        new.rename(out)
    except OSError:
        if replaces:
            old.rename(out)
        raise
    if replaces:
        shutil.rmtree(old)
