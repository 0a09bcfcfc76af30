"""Clusters of fastcoref, maverick and spaCy, and that of the answer."""

import json

import pytest

from analysis.__main__ import main
from analysis.counterfactuals.drafts import draft
from analysis.counterfactuals.instances import read_instances
from analysis.counterfactuals.partitions import cluster_of
from analysis.counterfactuals.resolvers import read_resolutions, relevant_cluster
from analysis.io.errors import InputError

OBAMA = "Barack Obama was the 44th president of the US. He was born in Hawaii."
NAME, HE = (0, 12), (47, 49)
FASTCOREF = {"text": OBAMA, "clusters": [[NAME, HE]], "clusters_strings": [["Barack Obama", "He"]]}
MAVERICK = {"text": OBAMA, "tokens": [], "clusters_char_offsets": [[(0, 11), (47, 48)]]}
SPACY = {
    "text": OBAMA,
    "spans": {
        "coref_clusters_1": [{"start": 0, "end": 12, "label": ""}, {"start": 47, "end": 49, "label": ""}],
        "coref_head_clusters_1": [{"start": 7, "end": 12}],
    },
}
QUESTION = {
    "_id": "o", "question": "Who was born in Hawaii?", "answer": "Barack Obama",
    "context": [["Obama", [OBAMA]]],
}  # fmt: skip


def texts(context, spans):
    return [context[start:end] for start, end in spans]


def test_the_rule_finds_the_cluster_of_the_papers_example():
    assert texts(OBAMA, cluster_of(OBAMA, "Barack Obama")) == ["Barack", "Obama", "He"]
    (first, second) = draft([QUESTION], steps=["coreference"]).instances
    assert texts(OBAMA, first.positive) == ["Barack", "Obama", "He"]
    assert first.positive == second.positive


@pytest.mark.parametrize(
    ("context", "answer", "mentions"),
    [
        (
            "The book was written by Ann Lee. She lives in Oslo. It sold well.",
            "Ann Lee",
            ["Ann", "Lee", "She"],
        ),
        ("Bob Ray met Ann Lee. He liked her.", "Ann Lee", ["Ann", "Lee"]),
        ("Ann Lee sang. Her mother met Bob Ray in Rome, and he slept.", "Ann Lee", ["Ann", "Lee", "Her"]),
        ("Yesterday it rained. He slept.", "Ann Lee", []),
    ],
)
def test_pronouns_stand_for_subjects_and_not_for_names_behind_prepositions(context, answer, mentions):
    assert texts(context, cluster_of(context, answer)) == mentions


@pytest.mark.parametrize("line", [FASTCOREF, MAVERICK, SPACY])
@pytest.mark.parametrize("name", ["out.jsonl", "out.json"])
def test_the_files_of_three_resolvers_say_the_same(tmp_path, line, name):
    path = tmp_path / name
    path.write_text(json.dumps([line] if name == "out.json" else line), encoding="utf-8")
    clusters = read_resolutions(path).find("o:whole", OBAMA)
    assert clusters == [(NAME, HE)]
    assert relevant_cluster(OBAMA, "Barack Obama", clusters) == [NAME, HE]


def test_the_cluster_with_the_answer_is_chosen():
    text = "The wife of Ann Lee's brother met Ann. Lee, Ann Lee and she sang."
    whole, part, long = ((44, 51), (56, 59)), ((34, 37),), ((0, 29),)
    assert relevant_cluster(text, "Ann Lee", [part, long, whole]) == list(whole)
    assert relevant_cluster(text, "Ann Lee", [part]) == [(34, 37)]
    assert relevant_cluster(text, "Bob", [part, whole]) == []
    assert relevant_cluster(text, "the", [part]) == []


def test_clusters_of_another_text_do_not_count(tmp_path):
    path = tmp_path / "out.jsonl"
    path.write_text(json.dumps({**FASTCOREF, "id": "o:whole"}), encoding="utf-8")
    assert read_resolutions(path).find("o:whole", OBAMA) == [(NAME, HE)]
    assert read_resolutions(path).find("o:whole", OBAMA.replace("Hawaii", "Kansas")) is None


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ({"clusters": []}, "needs the text, or the id"),
        ({"text": "a"}, "has none of clusters"),
        ({"text": "a", "clusters": [[[0, -1]]]}, "column clusters.0.0.1"),
        ({"text": "a", "spans": {"coref_clusters_1": [{"start": 0}]}}, "end"),
        ({"text": "ab", "clusters": [[[1, 1]]]}, "starts at 1 and ends at or before its start"),
        ({"text": "abc", "clusters_char_offsets": [[[2, 1]]]}, "starts at 2 and ends"),
    ],
)
def test_what_is_wrong_in_a_file_is_named(tmp_path, line, problem):
    (tmp_path / "out.jsonl").write_text(json.dumps(line), encoding="utf-8")
    with pytest.raises(InputError, match="line 1") as error:
        read_resolutions(tmp_path / "out.jsonl")
    assert problem in str(error.value)


def test_the_command_writes_texts_and_reads_clusters(tmp_path, capsys):
    questions = [QUESTION, QUESTION | {"_id": "p"}, QUESTION | {"_id": "q"}]
    (tmp_path / "q.json").write_text(json.dumps(questions), encoding="utf-8")
    arguments = ["counterfactuals", str(tmp_path / "q.json"), "--out", str(tmp_path / "out.jsonl")]
    assert main([*arguments, "--texts", str(tmp_path / "texts.jsonl")]) == 0
    rows = [json.loads(line) for line in (tmp_path / "texts.jsonl").read_text("utf-8").splitlines()]
    assert rows[0] == {"id": "o:whole", "text": OBAMA}
    clusters = [[[NAME, HE]], [[HE]], [[[0, 900]]]]
    lines = [
        {"id": row["id"], "clusters": text_clusters}
        for row, text_clusters in zip(rows, clusters, strict=True)
    ]
    path = tmp_path / "clusters.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    capsys.readouterr()
    assert main([*arguments, "--clusters", str(path)]) == 0
    reasons = {row["reason"] for row in json.loads(capsys.readouterr().out)["skipped"]}
    assert "no cluster of the resolver holds the answer" in reasons
    assert "the resolver has not read this context" in reasons  # its clusters end beyond the text
    instances = read_instances(tmp_path / "out.jsonl")
    assert {instance.question_id for instance in instances} == {"o"}
    assert texts(OBAMA, instances[0].positive) == ["Barack", "Obama", "He"]
