"""Claims with evidence as a dataset: HoVer, FEVER and SciFact."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from foundation.errors import BadFile
from foundation.imports.findings import Findings, Refused
from predictions.formats.claims import read_claims, read_fever, read_scifact
from predictions.formats.labels import read_labels
from tests.paths import DATA

HOVER: dict[str, Any] = {
    "uid": "a",
    "claim": "Ada was born in Bonn.",
    "label": "SUPPORTED",
    "num_hops": 2,
    "supporting_facts": [["Ada", 0]],
    "context": [["Ada", ["Ada was born in Bonn.", "She sang."]]],
}


def lines(path: Path, *entries: object) -> Path:
    path.write_text("".join(json.dumps(entry) + "\n" for entry in entries), encoding="utf-8")
    return path


def test_a_claim_with_its_articles(tmp_path: Path):
    (record,) = read_claims(lines(tmp_path / "a.jsonl", HOVER))
    assert (record.external_id, record.text, record.answer) == ("a", "Ada was born in Bonn.", "SUPPORTED")
    assert record.context == [("Ada", ["Ada was born in Bonn.", "She sang."])]
    assert (record.supporting_facts, record.kind) == ([("Ada", 0)], "2-hop")
    # The file lacks the other label, and the dataset has it all the same.
    assert record.labels == ["SUPPORTED", "NOT_SUPPORTED"]


def test_labels_of_another_dataset_are_those_of_the_file(tmp_path: Path):
    path = lines(tmp_path / "a.jsonl", HOVER | {"label": "true"}, HOVER | {"uid": "b", "label": "half true"})
    assert {tuple(record.labels) for record in read_claims(path)} == {("half true", "true")}


def test_free_answers_are_no_labels(tmp_path: Path):
    rows = [HOVER | {"uid": str(number), "label": f"answer {number}"} for number in range(101)]
    with pytest.raises(BadFile, match=r"a\.jsonl:101: label: has more than 100 labels"):
        read_labels(lines(tmp_path / "a.jsonl", *rows), ["label"])


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"context": None}, r"a\.jsonl:2: entry 2 \(b\): context: .*list.*found null"),
        ({"label": ""}, r"entry 2 \(b\): label: "),
        ({"supporting_facts": [["Ada", -1]]}, r"supporting_facts\[0\]\[1\]: "),
        ({"uid": "a"}, r"'a' is already on line 1"),
    ],
)
def test_wrong_entries_are_refused_by_line_and_field(tmp_path: Path, changes: dict[str, Any], message: str):
    path = lines(tmp_path / "a.jsonl", HOVER, HOVER | {"uid": "b"} | changes)
    with pytest.raises(BadFile, match=message):
        list(read_claims(path))


def test_claims_as_released_name_articles_that_they_do_not_hold(tmp_path: Path):
    bare = {name: value for name, value in HOVER.items() if name != "context"}
    with pytest.raises(BadFile, match="context: is missing; join the claims with their articles"):
        list(read_claims(lines(tmp_path / "a.jsonl", bare)))


# --- FEVER ---


@pytest.fixture
def fever(tmp_path: Path) -> Path:
    (tmp_path / "wiki-pages").mkdir()
    pages = [
        {"id": "Ada", "text": "", "lines": "0\tAda was born in Bonn.\tBonn\tBonn\n1\tShe sang.\n2\t"},
        {"id": "Other", "text": "", "lines": "0\tNobody asks for it."},
    ]
    lines(tmp_path / "wiki-pages" / "wiki-001.jsonl", *pages)
    claims = [
        {
            "id": 7,
            "claim": "Ada sang.",
            "label": "SUPPORTS",
            "evidence": [[[1, 2, "Ada", 1]], [[3, 4, "Ada", 0], [3, 5, "Ada", 1]]],
        },
        {"id": 8, "claim": "Ada flew.", "label": "NOT ENOUGH INFO", "evidence": [[[9, None, None, None]]]},
    ]
    lines(tmp_path / "train.jsonl", *claims)
    return tmp_path


def test_fever_joins_claims_with_wikipedia(fever: Path):
    findings = Findings(collect=True)
    (record,) = read_fever(fever, findings=findings)
    assert (record.external_id, record.answer) == ("7", "SUPPORTS")
    assert record.context == [("Ada", ["Ada was born in Bonn.", "She sang.", ""])]
    assert record.supporting_facts == [("Ada", 1)]
    assert record.labels == ["SUPPORTS", "REFUTES", "NOT ENOUGH INFO"]
    assert findings.count("several_evidence_sets") == 1
    assert findings.count("without_evidence") == 1


def test_pages_without_a_title_are_passed_over(fever: Path):
    lines(fever / "wiki-pages" / "wiki-000.jsonl", {"id": {}, "lines": "0\tA."}, {"lines": "0\tB."}, [1])
    assert list(read_fever(fever))


def test_an_article_that_wiki_pages_lack(fever: Path):
    (fever / "wiki-pages" / "wiki-001.jsonl").write_text("")
    (fever / "wiki-pages" / "wiki-001.jsonl").unlink()
    with pytest.raises(BadFile, match=r"train\.jsonl:1: entry 1 \(7\): evidence: wiki-pages has no article"):
        list(read_fever(fever))


def test_a_folder_without_articles_or_with_two_files(fever: Path):
    lines(fever / "dev.jsonl")
    with pytest.raises(BadFile, match="exactly one JSON file beside wiki-pages, and holds 2"):
        list(read_fever(fever))
    with pytest.raises(BadFile, match="expected a folder, or a zip file of it, with corpus"):
        list(read_scifact(fever))
    with pytest.raises(BadFile, match="expected a folder"):
        list(read_fever(fever / "train.jsonl"))


# --- SciFact ---


@pytest.fixture
def scifact(tmp_path: Path) -> Path:
    abstract = {"doc_id": 4, "title": "Cells", "abstract": ["Cells divide.", "Some do not."]}
    lines(tmp_path / "corpus.jsonl", abstract, abstract | {"doc_id": 5, "title": "Bones"})
    verdict = {"sentences": [1], "label": "CONTRADICT"}
    claims: list[dict[str, Any]] = [
        {"id": 1, "claim": "All cells divide.", "evidence": {"4": [verdict]}, "cited_doc_ids": [4, 5]},
        {"id": 2, "claim": "Cells sing.", "evidence": {}, "cited_doc_ids": [5]},
    ]
    lines(tmp_path / "claims_dev.jsonl", *claims)
    return tmp_path


def test_scifact_joins_claims_with_abstracts(scifact: Path):
    contradicted, undecided = read_scifact(scifact)
    assert [title for title, _ in contradicted.context] == ["Cells", "Bones"]
    assert (contradicted.answer, contradicted.supporting_facts) == ("CONTRADICT", [("Cells", 1)])
    assert (undecided.answer, undecided.supporting_facts) == ("NOT_ENOUGH_INFO", None)


def test_abstracts_that_disagree_are_refused(scifact: Path):
    evidence = {
        key: [{"sentences": [0], "label": label}] for key, label in (("4", "SUPPORT"), ("5", "CONTRADICT"))
    }
    claim = {"id": 1, "claim": "Cells sing.", "evidence": evidence, "cited_doc_ids": [4]}
    lines(scifact / "claims_dev.jsonl", claim)
    with pytest.raises(BadFile, match="evidence: its abstracts disagree"):
        list(read_scifact(scifact))


def test_all_mistakes_of_a_file_are_listed(scifact: Path):
    lines(scifact / "claims_dev.jsonl", {"id": 1}, {"id": 2, "claim": "A.", "cited_doc_ids": [9]}, 3)
    findings = Findings(collect=True)
    assert not list(read_scifact(scifact, findings=findings))
    with pytest.raises(Refused, match=r"corpus\.jsonl has no article '9'(?s:.*)entry 3: expected an object"):
        findings.check()


# --- real data ---


def test_hover_as_joined_with_its_articles():
    path = DATA / "hover" / "hover_dev_with_articles.json"
    if not path.is_file():
        pytest.skip(f"{path} is not there")
    records = list(read_claims(path))
    assert len(records) == 63
    assert {record.kind for record in records} == {"2-hop", "3-hop"}
    assert all(record.answer in record.labels and not record.find_stray_facts() for record in records)


def test_hover_as_released_names_what_it_lacks():
    path = DATA / "hover" / "hover_dev_release_v1.1.json"
    if not path.is_file():
        pytest.skip(f"{path} is not there")
    with pytest.raises(BadFile, match="context: is missing; join the claims with their articles"):
        next(read_claims(path))
