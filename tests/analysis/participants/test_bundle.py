"""Loading a bundle, and naming what is wrong with it."""

import json
import re

import pandas as pd
import pytest

from analysis.io.errors import AnalysisError, InputError
from analysis.participants.bundle import load_bundle, load_scores
from tests.analysis.bundles import ITEM_QUESTIONS, planted_study, rules, scores_file


@pytest.fixture
def folder(tmp_path):
    return planted_study(
        tmp_path / "bundle", people=2, items=3, scores={"sys-1": {"em": 0.5, "farm_4": None}}
    )


def edit(path, old, new, count=1):
    text = path.read_text("utf-8")
    assert old in text
    path.write_text(text.replace(old, new, count), "utf-8")


def edit_json(path, change):
    document = json.loads(path.read_text("utf-8"))
    change(document)
    path.write_text(json.dumps(document), "utf-8")


def test_it_works(folder):
    bundle = load_bundle(folder)
    assert len(bundle.trials) == bundle.assigned == 4 * 2 * 3
    assert bundle.trials["rated_correct"].isin([0.0, 1.0]).all()
    assert bundle.trials["client_total_ms"].isna().all()
    assert bundle.study.title == "A study & its title"
    question = bundle.version(1).question("certainty")
    assert question
    assert question.key == "certainty"
    assert [condition.system for condition in bundle.version(1).conditions] == [
        "sys-1",
        "sys-2",
        "sys-3",
        None,
    ]
    with pytest.raises(AnalysisError, match="no version 7"):
        bundle.version(7)
    assert bundle.scores
    assert bundle.scores.systems["sys-1"].reasons == {"farm_4": "no farm_4 here"}
    assert set(bundle.hashes) == {path.name for path in folder.iterdir()}
    assert re.fullmatch("[0-9a-f]{64}", bundle.hashes["trials.csv"])


@pytest.mark.parametrize("suffix", ["parquet", "jsonl"])
def test_the_same_from_other_formats(folder, suffix):
    expected = load_bundle(folder)
    types = {"rated_correct": "boolean", "known_before": "boolean", "system_correct": "boolean"}
    for name in ("trials", "participants", "post_survey"):
        frame = pd.read_csv(folder / f"{name}.csv", dtype={"participant_id": str})
        frame = frame.astype({column: kind for column, kind in types.items() if column in frame})
        if suffix == "parquet":
            frame.to_parquet(folder / f"{name}.parquet")
        else:
            frame.to_json(folder / f"{name}.jsonl", orient="records", lines=True)
        (folder / f"{name}.csv").unlink()
    bundle = load_bundle(folder)
    for name in ("trials", "participants", "post_survey"):
        pd.testing.assert_frame_equal(getattr(bundle, name), getattr(expected, name))


def test_missing_cells_are_missing_and_unsubmitted_trials_do_not_count(folder):
    lines = (folder / "trials.csv").read_text("utf-8").splitlines()
    header = lines[0].split(",")
    first = dict(zip(header, lines[1].split(","), strict=True))
    blank = {"submitted_at", "server_ms", "rated_correct", "known_before", "certainty", "helpfulness"}
    lines[1] = ",".join("" if name in blank else value for name, value in first.items())
    second = dict(zip(header, lines[2].split(","), strict=True))
    lines[2] = ",".join(
        "" if name in ("submitted_at", "certainty") else value for name, value in second.items()
    )
    (folder / "trials.csv").write_text("\n".join(lines), "utf-8")
    bundle = load_bundle(folder)
    assert (len(bundle.trials), bundle.assigned) == (23, 24)
    assert bundle.trials["certainty"].isna().sum() == 1


@pytest.mark.parametrize(
    ("file", "old", "new", "words"),
    [
        (
            "trials.csv",
            ",true,",
            ",maybe,",
            r"trials\.csv, line \d+, column \w+: 'maybe' is not true or false",
        ),
        (
            "trials.csv",
            "one-000,live",
            "one-000,alive",
            r"line 2, column mode: 'alive' is not one of live, pilot, bot",
        ),
        (
            "trials.csv",
            "one-000,live,1,one,item-00",
            "one-000,live,1,one,item-01",
            r"line 3, column item_id: second row",
        ),
        (
            "trials.csv",
            "one-000,live,1,one",
            "one-000,live,1,nowhere",
            r"line 2, column condition: version 1 has no condition 'nowhere'",
        ),
        (
            "trials.csv",
            "one-000,live,1,one",
            "one-000,live,1,two",
            r"line 2, column condition: participants\.csv has this participant in 'one'",
        ),
        (
            "trials.csv",
            "one-000,live,1,one",
            "ghost,live,1,one",
            r"line 2, column participant_id: 'ghost' is not in participants\.csv",
        ),
        (
            "trials.csv",
            "one-000,live,1,one",
            "one-000,live,7,one",
            r"line 2, column version: study_version\.json has no version 7",
        ),
        (
            "trials.csv",
            "one-000,live,1,one,item-00,1",
            "one-000,live,1,one,item-00,1.5",
            r"line 2, column position: '1\.5' is not a whole number of 1 or more",
        ),
        (
            "trials.csv",
            "one-000,live,1,one,item-00,",
            "one-000,live,1,one,item-00,9,9,",
            r"trials\.csv, line 2: has \d+ fields where the header has \d+",
        ),
        (
            "trials.csv",
            "one-000,live,1,one,item-00",
            "one-000,live,1,one,",
            r"line 2, column item_id: may not be empty",
        ),
        ("trials.csv", "rated_correct", "renamed", r"trials\.csv, rated_correct: the column is missing"),
        ("trials.csv", "known_before", "certainty", r"trials\.csv, certainty: the column is there twice"),
        (
            "participants.csv",
            "completed",
            "vanished",
            r"participants\.csv, line 2, column status: 'vanished' is not one of",
        ),
        ("study_version.json", '"versions"', '"version"', r"study_version\.json, versions: is missing"),
        ("study_version.json", "{", "[", r"study_version\.json, line 2, column \d+: is not JSON"),
        ("rules.json", "min_time", "max_tide", r"rules\.json: rules\.0: .*max_tide"),
        (
            "rules.json",
            '"question": "known_before"',
            '"question": "unknown"',
            r"rules\.json: rule 'known-before' asks for the question 'unknown'",
        ),
        ("scores.json", "0.5", "49.5", r"scores\.json, systems\.sys-1\.scores\.em: 49\.5 is not a fraction"),
        ("scores.json", '"schema_version": 1', '"schema_version": 2', r"scores\.json, schema_version: "),
    ],
)
def test_a_fault_is_named_with_file_line_and_field(folder, file, old, new, words):
    edit(folder / file, old, new)
    with pytest.raises(InputError, match=words):
        load_bundle(folder)


def test_a_rating_outside_its_scale(folder):
    text = (folder / "post_survey.csv").read_text("utf-8").splitlines()
    text[3] = text[3][:-1] + "6"
    (folder / "post_survey.csv").write_text("\n".join(text), "utf-8")
    with pytest.raises(
        InputError, match=r"line 4, column satisfaction: '6' is not a whole number from 1 to 5"
    ):
        load_bundle(folder)


def test_the_line_is_right_after_a_cell_with_line_breaks(folder):
    edit(folder / "trials.csv", "participant_id", '"a note\nof two lines",participant_id')
    text = (folder / "trials.csv").read_text("utf-8").split("\n")
    text[2:] = [f'"x\n\ny",{line}' if line else line for line in text[2:]]
    text[4] = text[4].replace(",live,", ",dead,")
    (folder / "trials.csv").write_text("\n".join(text), "utf-8")
    with pytest.raises(InputError, match=r"line 9, column mode: 'dead'"):
        load_bundle(folder)


@pytest.mark.parametrize("name", ["trials.csv", "participants.csv", "study_version.json", "rules.json"])
def test_a_needed_file_is_missing(folder, name):
    (folder / name).unlink()
    with pytest.raises(InputError, match=name.split(".")[0]):
        load_bundle(folder)


def test_what_may_be_missing(folder):
    (folder / "post_survey.csv").unlink()
    (folder / "scores.json").unlink()
    bundle = load_bundle(folder)
    assert (bundle.post_survey, bundle.scores, bundle.flow) == (None, None, {})


def test_no_folder_empty_files_and_two_formats(tmp_path, folder):
    with pytest.raises(InputError, match="is not a folder"):
        load_bundle(tmp_path / "nothing")
    (folder / "trials.jsonl").write_text("", "utf-8")
    with pytest.raises(InputError, match=r"holds both trials\.csv and trials\.jsonl"):
        load_bundle(folder)
    (folder / "trials.jsonl").unlink()
    (folder / "trials.csv").write_text("", "utf-8")
    with pytest.raises(InputError, match="is empty"):
        load_bundle(folder)
    (folder / "trials.csv").write_bytes(b"participant_id\n\xff\xfe\n")
    with pytest.raises(InputError, match="UTF"):
        load_bundle(folder)


def test_a_judgement_needs_yes_or_no(folder):
    def change(study):
        study["versions"][0]["item_questionnaire"][0]["scale"] = {"points": 5}

    edit_json(folder / "study_version.json", change)
    with pytest.raises(InputError, match="correctness_rating needs the scale yes_no"):
        load_bundle(folder)


def test_a_question_may_not_be_named_like_a_column(tmp_path):
    questions = [dict(ITEM_QUESTIONS[0], key="position")]
    folder = planted_study(tmp_path / "b", people=1, items=1, item_questions=questions, rules=[])
    with pytest.raises(AnalysisError, match="question 'position' is named like a column"):
        load_bundle(folder)


def test_scores_from_elsewhere(tmp_path):
    path = tmp_path / "scores.json"
    path.write_text(json.dumps(scores_file({"s": {"em": 1.0}})), "utf-8")
    assert load_scores(path).systems["s"].scores == {"em": 1.0}
    with pytest.raises(InputError, match="there is no such file"):
        load_scores(tmp_path / "none.json")


def test_rules_of_the_default_study_are_read(folder):
    assert [rule.name for rule in load_bundle(folder).rules] == [rule["name"] for rule in rules()]
