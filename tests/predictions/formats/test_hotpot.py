"""The readers of question and prediction files name what is wrong in them."""

import json
from pathlib import Path

import pytest

from foundation.errors import BadFile
from predictions.formats.hotpot import read_hotpot
from predictions.formats.predictions import read_predictions
from tests.analysis.data import real_data
from tests.studyapp.questions import entries, entry, write_json


def written(folder: Path, text: str, name: str = "file.json") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def questions(path: Path) -> list[dict[str, object]]:
    return [record.columns() for record in read_hotpot(path)]


def columns_of(rows: list[dict[str, object]]) -> dict[str, list[object]]:
    """The form of the Hugging Face release: an object of columns."""

    def paired(pairs: list[list[object]], first: str, second: str) -> dict[str, list[object]]:
        return {first: [pair[0] for pair in pairs], second: [pair[1] for pair in pairs]}

    columns: dict[str, list[object]] = {name: [row[name] for row in rows] for name in ("question", "answer")}
    columns |= {"id": [row["_id"] for row in rows], "type": [row["type"] for row in rows]}
    columns["level"] = [row["level"] for row in rows]
    columns["context"] = [paired(row["context"], "title", "sentences") for row in rows]  # type: ignore[arg-type]
    columns["supporting_facts"] = [
        paired(row["supporting_facts"], "title", "sent_id")  # type: ignore[arg-type]
        for row in rows
    ]
    return columns


# --- HotpotQA ----------------------------------------------------------------------------------------


def test_the_forms_of_one_dataset_give_the_same_questions(tmp_path: Path):
    rows = entries(5)
    official = questions(write_json(tmp_path / "list.json", rows))
    lines = questions(written(tmp_path, "\n".join(map(json.dumps, rows))))
    columns = columns_of(rows)
    held = questions(write_json(tmp_path / "columns.json", columns))
    hub_rows = [{name: column[number] for name, column in columns.items()} for number in range(5)]
    hub_lines = questions(written(tmp_path, "\n".join(map(json.dumps, hub_rows)), "rows.jsonl"))
    assert official == lines == held == hub_lines
    assert official[0]["external_id"] == "q0"
    assert official[0]["supporting_facts"] == [["Night Ferry 0", 0], ["Paul Stone I", 0]]
    assert official[0]["context"][2] == ["Oslo", ["Oslo is a city."]]  # type: ignore[index]


def test_type_and_level_may_be_absent_and_gold_facts_unknown(tmp_path: Path):
    row = entry(supporting_facts=None)
    del row["type"], row["level"]
    (question,) = questions(write_json(tmp_path / "file.json", [row]))
    assert (question["kind"], question["level"], question["supporting_facts"]) == ("", "", None)


@pytest.mark.parametrize(
    "changes, words",
    [
        ({"question": ""}, "question: must have at least 1 character"),
        ({"question": 3}, "question: must be text"),
        ({"question": "a\0b"}, "question: holds the character NUL"),
        ({"question": "\ud800"}, "question: "),
        ({"answer": None}, "answer: must be text"),
        ({"type": "x" * 41}, "type: must have at most 40 characters"),
        ({"_id": "x" * 201}, "_id: must have at most 200 characters"),
        ({"_id": 7}, "entry 2 (7): _id: must be text"),
        ({"context": []}, "context: must have at least 1 item"),
        ({"context": None}, "context: must be a list"),
        ({"context": [["A", ["one", 2]]]}, "context[0][1][1]: must be text"),
        ({"context": [["A", ["one"]], ["B"]]}, "context[1][1]: is missing"),
        (
            {"context": {"title": ["A"], "sentences": []}},
            'context: "title" and "sentences" must have the same',
        ),
        ({"supporting_facts": [["A", "0"]]}, "supporting_facts[0][1]: must be a whole number"),
        (
            {"supporting_facts": [["A", -1]]},
            "supporting_facts[0][1]: must be at least 0",
        ),
        ({"supporting_facts": [["A", True]]}, "supporting_facts[0][1]: must be a whole number"),
        ({"_id": "q0"}, "_id: 'q0' is already on line"),
    ],
)
def test_a_bad_field_is_told_with_file_line_and_field(tmp_path: Path, changes: dict[str, object], words: str):
    text = f"[{json.dumps(entry(0))},\n{json.dumps(entry(1, **changes))}]"
    path = written(tmp_path, text)
    with pytest.raises(BadFile) as error:
        questions(path)
    assert str(error.value).startswith(f"{path}:2: entry 2")
    assert words in str(error.value)


@pytest.mark.parametrize("field", ["_id", "question", "answer", "context", "supporting_facts"])
def test_a_missing_field_is_told(tmp_path: Path, field: str):
    row = entry()
    del row[field]
    with pytest.raises(BadFile, match=f"{field}: is missing"):
        questions(write_json(tmp_path / "file.json", [row]))


@pytest.mark.parametrize("content, words", [([], "holds no questions"), ([3], "entry 1: expected an object")])
def test_what_is_no_list_of_questions_is_told(tmp_path: Path, content: object, words: str):
    with pytest.raises(BadFile, match=words):
        questions(write_json(tmp_path / "file.json", content))


def test_columns_of_unequal_length_are_told(tmp_path: Path):
    columns = columns_of(entries(3))
    columns["answer"].pop()
    with pytest.raises(BadFile, match="answer: must be a list of 3 values"):
        questions(write_json(tmp_path / "file.json", columns))


def test_gold_facts_without_a_sentence_are_kept_and_named(tmp_path: Path):
    facts = [["Oslo", 0], ["Oslo", 1], ["Bergen", 0]]
    (record,) = read_hotpot(write_json(tmp_path / "file.json", [entry(supporting_facts=facts)]))
    assert record.columns()["supporting_facts"] == facts
    assert record.find_stray_facts() == [("Oslo", 1), ("Bergen", 0)]


@pytest.mark.parametrize(
    "name, count, without_facts",
    [
        ("hotpot_sample.json", 586, 0),
        ("hotpot_train_sample.json", 200, 0),
        ("hotpot_dev_distractor_reconstructed.json", 378, 296),
    ],
)
def test_real_files_are_read(name: str, count: int, without_facts: int):
    records = list(read_hotpot(real_data(f"hotpot/{name}")))
    assert len(records) == count
    assert sum(record.supporting_facts is None for record in records) == without_facts


# --- predictions -------------------------------------------------------------------------------------


def test_a_predictions_file_gives_its_predictions(tmp_path: Path):
    content = {
        "answer": {"q0": "Oslo"},
        "sp": {"q0": [["Oslo", 0]]},
        "type": {"q0": "span"},
        "fact_probability": {"q0": [["Oslo", 0, 0.9]]},
        "answer_location": {"q0": ["Oslo", 0, 0, 4]},
    }
    path = write_json(tmp_path / "predictions.json", content)
    file = read_predictions(path)
    prediction = file.prediction("q0", entry()["context"], entry()["question"])
    assert prediction.answer == "Oslo"
    assert prediction.type == "span"
    assert prediction.facts == [("Oslo", 0)]
    assert prediction.fact_probabilities is not None
    assert prediction.fact_probabilities[0].probability == 0.9
    assert prediction.location is not None
    assert (prediction.location.first, prediction.location.end) == (("Oslo", 0), 4)
    assert len(file.revision) == 12
    assert read_predictions(path).revision == file.revision
    assert read_predictions(write_json(path, content | {"type": {}})).revision != file.revision


@pytest.mark.parametrize(
    "text, words",
    [
        ('{"answer": {"q0": "x"},\n}', "predictions.json:2: not JSON"),
        ('{"answer": {"q0": "x"}}', "sp: is missing"),
        ('{"answer": {"q0": 3}, "sp": {}}', "answer.q0: must be text"),
        ('{"answer": {}, "sp": {}, "types": {}}', "types: there is no such field"),
        (
            '{"answer": {}, "sp": {}, "type": {"q0": "maybe"}}',
            "type.q0: must be 'span', 'yes', 'no' or 'label'",
        ),
        (
            '{"answer": {}, "sp": {}, "fact_probability": {"q0": [["A", 0, 1.5]]}}',
            "fact_probability.q0[0][2]: ",
        ),
        ('{"answer": {}, "sp": {}, "answer_location": {"q0": ["A", 0, 5, 4]}}', "end lies before its start"),
        ('{"answer": {"q0": "x", "q0": "y"}, "sp": {}}', "the key 'q0' occurs twice"),
        ("[]", "must be a mapping of fields"),
    ],
)
def test_a_bad_predictions_file_is_told(tmp_path: Path, text: str, words: str):
    with pytest.raises(BadFile) as error:
        read_predictions(written(tmp_path, text, "predictions.json"))
    assert "predictions.json" in str(error.value)
    assert words in str(error.value)


@pytest.mark.parametrize("location", [["Oslo", 0, 0, 99], ["Oslo", 1, 0, 4], ["Bergen", 0, 0, 4]])
def test_an_answer_outside_of_the_articles_is_told(tmp_path: Path, location: list[object]):
    content = {"answer": {"q0": "Oslo"}, "sp": {}, "answer_location": {"q0": location}}
    file = read_predictions(write_json(tmp_path / "predictions.json", content))
    with pytest.raises(BadFile, match=r"answer_location\[q0\]: no sentence"):
        file.prediction("q0", entry()["context"], entry()["question"])


@pytest.mark.parametrize(
    "name", ["srlgrn", "hp_model_9", "bidafpp_rnn_irisqy", "qwen3_8b_ragdrop", "graphrag_100"]
)
def test_real_prediction_files_are_read(name: str):
    assert read_predictions(real_data(f"hotpot/predictions/{name}.json")).ids
