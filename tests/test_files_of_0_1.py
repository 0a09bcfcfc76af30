"""The product still reads files that release 0.1 wrote.

They are a public bundle of a study, and gold of annotation projects. ``fixtures`` holds them as 0.1 wrote
them, and nothing makes them again.
"""

import json
import tarfile
from pathlib import Path

import pytest

from analysis.__main__ import main
from analysis.participants.bundle import load_bundle
from annotation.actions.data import import_items
from annotation.formats.jsonl import read_jsonl
from annotation.formats.source import Source
from annotation.queries.export import read_item_records
from studyapp.definition.frozen.freezing import FrozenStudy
from tests.annotation import factories

FIXTURES = Path(__file__).parent / "fixtures"


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    """A bundle of a mixed design with every kind of page.

    It has 6 participants, one of them still on the way.
    """
    folder = tmp_path / "bundle"
    with tarfile.open(FIXTURES / "bundle-0.1" / "bundle.tar.gz") as archive:
        archive.extractall(folder, filter="data")
    return folder


def test_a_bundle_of_0_1_is_loaded(bundle: Path) -> None:
    loaded = load_bundle(bundle)
    # A sixth participant had submitted nothing yet.
    assert (len(loaded.trials), len(loaded.participants)) == (30, 6)
    assert [condition.name for condition in loaded.study.versions[0].conditions] == [
        *("qi2019", "qi2019 (no explanation)", "ground truth"),
    ]


def test_a_bundle_of_0_1_is_reported(bundle: Path, tmp_path: Path) -> None:
    out = tmp_path / "report"
    assert main(["report", str(bundle), "--out", str(out), "--resamples", "60"]) == 0
    assert any(out.rglob("*.html"))


def test_what_0_1_froze_keeps_its_hash(bundle: Path) -> None:
    (version,) = json.loads((bundle / "study_version.json").read_text("utf-8"))["versions"]
    assert FrozenStudy.model_validate(version["definition"]).hash() == version["hash"]


@pytest.mark.django_db
@pytest.mark.parametrize(("kind", "items"), [("boxes", 2), ("spans", 1)])
def test_gold_of_0_1_is_imported(kind: str, items: int) -> None:
    records = list(read_jsonl(Source(FIXTURES / "gold-0.1" / f"{kind}.jsonl")))
    project = factories.make_project(kind=kind)
    import_items(records=records, project=project)
    stored = list(read_item_records(project))
    assert len(stored) == items
    assert [record.gold for record in stored] == [record.gold for record in records]
    assert stored[0].gold is not None
    assert [row.document for row in stored[0].annotations] == [row.document for row in records[0].annotations]
