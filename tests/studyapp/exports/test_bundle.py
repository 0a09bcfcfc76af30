"""The export bundle holds and withholds what it should.

It never destroys anything else.
"""

import csv
import importlib.util
import json
import re
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.db.models import F
from django.utils import timezone

from analysis.participants.bundle import load_bundle
from foundation.errors import BadFile, NotFound
from predictions.models import Score
from studyapp.actions.exclusions import exclude_participant
from studyapp.actions.studies import create_study
from studyapp.exports import bundle, rows, study_data
from studyapp.exports.bundle import write_bundle
from studyapp.exports.writers import FORMATS
from studyapp.models import Event, Participant, Trial
from studyapp.queries.studies import AlteredVersion, find_study
from tests import workspaces
from tests.studyapp.factories import (
    answer_item,
    launch,
    make_dataset,
    make_definition,
    make_link,
    make_participant,
    make_run,
    make_study,
)

pytestmark = pytest.mark.django_db


def table(folder: Path, name: str) -> list[dict[str, str]]:
    with (folder / f"{name}.csv").open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def document(folder: Path, name: str) -> dict:
    return json.loads((folder / name).read_text(encoding="utf-8"))


@pytest.fixture
def study():
    """Two completed participants and one who left after the first item."""
    study = make_study(items=3, conditions=2)
    link = make_link(study=study, label="class of May")
    for _ in range(2):
        make_participant(study=study, link=link, completed=True)
    make_participant(study=study, link=link, items=1)
    return study


def test_it_works(study, tmp_path):
    written = write_bundle(study, tmp_path / "out")
    trials = table(tmp_path / "out", "trials")
    assert written.rows == {
        "trials": 9, "participants": 3, "post_survey": 2, "items": 6,
        "checks": 0, "stages": 0, "pre_survey": 0, "judgements": 0, "question_scores": 0,
        "events": Event.objects.filter(study=study).count(),
    }  # fmt: skip
    assert len(trials) == 9
    first = trials[0]
    participant = Participant.objects.earliest("pk")
    assert first["participant_id"] == participant.public_id
    assert first["mode"] == "live"
    assert first["version"] == "1"
    assert first["position"] == "1"
    assert first["rated_correct"] == "true"
    assert first["known_before"] == "false"
    assert first["certainty"] == "4"
    assert first["changes_certainty"] == "1"
    assert first["client_total_ms"] == "20000"
    assert first["submitted_at"].endswith("Z")
    assert first["system_correct"] in ("true", "false")
    survey = table(tmp_path / "out", "post_survey")
    assert [row["trust"] for row in survey] == ["4", "4"]
    assert {row["link_label"] for row in table(tmp_path / "out", "participants")} == {"class of May"}


def test_missing_is_an_empty_cell(study, tmp_path):
    write_bundle(study, tmp_path / "out")
    first = table(tmp_path / "out", "trials")[0]
    open_trial = table(tmp_path / "out", "trials")[-1]
    assert first["client_visible_ms"] == ""  # the browser told its total only
    assert first["changes_helpfulness"] == ""
    for name in ("submitted_at", "server_ms", "rated_correct", "certainty", "excluded_by"):
        assert open_trial[name] == ""
    assert open_trial["item_id"]


def test_server_time_is_submitted_minus_shown(study, tmp_path):
    trial = Trial.objects.filter(submitted_at__isnull=False).earliest("pk")
    Trial.objects.filter(pk=trial.pk).update(submitted_at=F("shown_at") + timedelta(milliseconds=17_250))
    write_bundle(study, tmp_path / "out")
    assert table(tmp_path / "out", "trials")[0]["server_ms"] == "17250"


def test_system_correct_is_that_of_the_participants_condition(study, tmp_path):
    write_bundle(study, tmp_path / "out")
    judged = {
        (row["condition"], row["item_id"]): row["system_correct"] for row in table(tmp_path / "out", "items")
    }
    assert set(judged.values()) == {"true", "false"}
    for trial in table(tmp_path / "out", "trials"):
        assert trial["system_correct"] == judged[trial["condition"], trial["item_id"]]


def test_items_hold_the_rationale_that_participants_saw(tmp_path):
    run = make_run(dataset=make_dataset())
    run.predictions.update(rationale="It lies by the sea.")
    conditions = [
        {"system": run.system.name, "explanation": style, "represents": style == "facts"}
        for style in ("facts", "rationale")
    ]
    study = make_study(conditions=conditions, dataset=run.dataset.name, items=1)
    call_command("export_results", study.slug, "--out", str(tmp_path / "out"))
    with (tmp_path / "out" / "items.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["rationale"] for row in rows] == ["", "It lies by the sea."]


def test_the_analysis_loads_it(study, tmp_path):
    write_bundle(study, tmp_path / "out")
    loaded = load_bundle(tmp_path / "out")
    assert len(loaded.trials) == 7
    assert loaded.assigned == 9
    assert len(loaded.participants) == 3
    assert loaded.post_survey is not None
    assert len(loaded.post_survey) == 2
    assert loaded.scores is not None


@pytest.mark.parametrize("file_format", FORMATS)
def test_every_format_loads_alike(study, tmp_path, file_format):
    write_bundle(study, tmp_path / "csv")
    write_bundle(study, tmp_path / "out", file_format=file_format)
    expected, got = _load(tmp_path / "csv"), _load(tmp_path / "out")
    for name, frame in expected.items():
        pd.testing.assert_frame_equal(got[name], frame)
    assert str(got["trials"]["rated_correct"].dtype) == "boolean"
    assert str(got["trials"]["certainty"].dtype) == "Int64"
    assert str(got["trials"]["submitted_at"].dt.tz) == "UTC"
    assert len(load_bundle(tmp_path / "out").trials) == 7


def _load(folder: Path, mode: Any = "all", exclusions: str = "kept") -> dict[str, pd.DataFrame]:
    spec = importlib.util.spec_from_file_location("load", folder / "load.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.load(folder, mode=mode, exclusions=exclusions)


@pytest.fixture
def mixed(tmp_path):
    """A bundle with people and a pilot, and with exclusions.

    It has an excluded trial, and a participant who was excluded by hand.
    """
    rules = [{"name": "known", "kind": "answered", "question": "known_before", "value": True}]
    study = make_study(items=3, conditions=2, exclusions=rules)
    answer_item(make_participant(study=study), known_before=True)
    make_participant(study=study, completed=True)
    out = make_participant(study=study, completed=True)
    exclude_participant(participant=out, reason="took part twice", by=None)
    make_participant(link=make_link(study=study, mode="pilot"), completed=True)
    write_bundle(study, tmp_path / "out")
    return tmp_path / "out"


def test_the_loader_asks_for_mode_and_exclusions(mixed):
    counts = {
        (mode, exclusions): tuple(len(_load(mixed, mode, exclusions)[name]) for name in TABLES)
        for mode, exclusions in LOADED
    }
    assert counts == LOADED
    with pytest.raises(ValueError, match="mode must be"):
        _load(mixed, "people")
    with pytest.raises(ValueError, match="exclusions must be"):
        _load(mixed, "live", "yes")


TABLES = ("trials", "participants", "post_survey", "items")
LOADED = {
    ("all", "kept"): (12, 4, 3, 6),
    ("live", "kept"): (9, 3, 2, 6),
    ("live", "applied"): (5, 2, 1, 6),
    ("pilot", "applied"): (3, 1, 1, 6),
}


def test_the_r_loader_is_whole(mixed):
    text = (mixed / "load.R").read_text("ascii")
    assert re.search(r"load_bundle <- function\(folder, mode, exclusions\) \{", text)
    code = re.sub(r'"(\\.|[^"\\])*"|#.*', "", text)
    for pair in ("()", "[]", "{}"):
        assert code.count(pair[0]) == code.count(pair[1]), pair


@pytest.mark.parametrize("public", [False, True])
def test_psych_ds_describes_every_column(study, tmp_path, public):
    write_bundle(study, tmp_path / "out", public=public)
    described = document(tmp_path / "out", "dataset_description.json")
    assert (described["@context"], described["@type"]) == ("https://schema.org/", "Dataset")
    assert described["name"]
    assert described["description"]
    names = [variable["name"] for variable in described["variableMeasured"]]
    assert len(names) == len(set(names))
    for path in (tmp_path / "out").glob("*.csv"):
        assert set(path.read_text("utf-8").splitlines()[0].split(",")) <= set(names), path


def test_tables_in_the_folder_of_psych_ds(study, tmp_path):
    out = tmp_path / "out"
    for _ in range(2):  # the second replaces the first
        call_command("export_results", study.slug, "--out", str(out), "--psych-ds")
    copies = {path.name: path.read_bytes() for path in (out / "data").iterdir()}
    assert sorted(copies.values()) == sorted(path.read_bytes() for path in out.glob("*.csv"))
    # The rule for data files in the schema of Psych-DS 1.4, and its own keywords, of which it does not warn.
    rule = re.compile(r"study-[a-zA-Z0-9]+_description-[a-zA-Z0-9]+_data\.csv")
    assert all(rule.fullmatch(name) for name in copies), copies.keys()
    slug = re.sub("[^a-z0-9]", "", study.slug)
    assert f"study-{slug}_description-postsurvey_data.csv" in copies
    write_bundle(study, out)
    assert not (out / "data").exists()
    with pytest.raises(CommandError, match="--psych-ds needs tables in CSV"):
        call_command("export_results", study.slug, "--out", str(out), "--psych-ds", "--format", "parquet")


def test_one_mode_alone(study, tmp_path):
    make_participant(link=make_link(study=study, mode="pilot"), completed=True)
    call_command("export_results", study.slug, "--out", str(tmp_path / "live"), "--mode", "live")
    assert {row["mode"] for row in table(tmp_path / "live", "participants")} == {"live"}
    assert document(tmp_path / "live", "flow.json")["modes"].keys() == {"live"}
    assert document(tmp_path / "live", "rules.json")["counts"].keys() == {"live"}
    write_bundle(study, tmp_path / "all")
    modes = ["--mode", "pilot", "--mode", "live"]
    call_command("export_results", study.slug, "--out", str(tmp_path / "both"), *modes)
    assert {path.name: path.read_bytes() for path in (tmp_path / "both").iterdir()} == {
        path.name: path.read_bytes() for path in (tmp_path / "all").iterdir()
    }


@pytest.mark.parametrize("public", [False, True])
@pytest.mark.parametrize("file_format", FORMATS)
def test_same_data_same_bytes(study, tmp_path, file_format, public, monkeypatch):
    write_bundle(study, tmp_path / "one", file_format=file_format, public=public)
    monkeypatch.setattr(study_data, "CHUNK", 2)  # cutting the work otherwise changes nothing
    write_bundle(study, tmp_path / "two", file_format=file_format, public=public)
    ones = {path.name: path.read_bytes() for path in (tmp_path / "one").iterdir()}
    twos = {path.name: path.read_bytes() for path in (tmp_path / "two").iterdir()}
    assert ones == twos


def test_rules_are_applied_and_counted(tmp_path):
    study = make_study(
        items=3,
        exclusions=[
            {"name": "too-fast", "kind": "min_time", "clock": "client_total", "seconds": 30},
            {"name": "known-before", "kind": "answered", "question": "known_before", "value": True},
        ],
    )
    participant = make_participant(study=study)
    answer_item(participant, known_before=True)
    answer_item(participant)
    Trial.objects.filter(position=2).update(client_total_ms=30_000)
    write_bundle(study, tmp_path / "out")
    excluded = [row["excluded_by"] for row in table(tmp_path / "out", "trials")]
    assert excluded == ["too-fast;known-before", "", ""]
    rules = document(tmp_path / "out", "rules.json")
    assert rules["counts"] == {
        "live": {
            "total_trials": 2,
            "excluded": 1,
            "percent": 50.0,
            "by_rule": {"too-fast": 1, "known-before": 1},
            "by_condition": {participant.condition.name: {"trials": 2, "excluded": 1}},
            "overlap": {"too-fast;known-before": 1},
            "clocks": {"too-fast": {"client_total": 2}},
            "hits_by_clock": {"too-fast": {"client_total": 1}},
        }
    }
    assert rules["rules"][0]["milliseconds"] == 30_000


def test_counts_add_up_over_chunks(study, tmp_path, monkeypatch):
    write_bundle(study, tmp_path / "one")
    monkeypatch.setattr(study_data, "CHUNK", 1)
    write_bundle(study, tmp_path / "two")
    counts = document(tmp_path / "two", "rules.json")["counts"]
    assert counts == document(tmp_path / "one", "rules.json")["counts"]
    assert counts["live"]["total_trials"] == 7


def test_flow(study, tmp_path):
    make_participant(link=make_link(study=study, mode="bot"), completed=True)
    write_bundle(study, tmp_path / "out")
    flow = document(tmp_path / "out", "flow.json")["modes"]
    assert flow["bot"]["consented"] == 1
    live = flow["live"]["conditions"]
    assert flow["live"]["consented"] == 3
    assert sum(arm["assigned"] for arm in live.values()) == 3
    assert sum(arm["started"] for arm in live.values()) == 3
    assert sum(arm["completed"] for arm in live.values()) == 2
    assert sum(arm["active"] for arm in live.values()) == 1
    assert [arm["dropped_at"] for arm in live.values() if arm["dropped_at"]] == [{"1": 1}]


def test_public_variant_gives_nobody_away(study, tmp_path):
    write_bundle(study, tmp_path / "internal")
    write_bundle(study, tmp_path / "public", public=True)
    everything = "".join(path.read_text(encoding="utf-8") for path in (tmp_path / "public").iterdir())
    for participant in Participant.objects.all():
        assert participant.public_id not in everything
        assert str(participant.order_seed) not in everything
        assert participant.completion_code == "" or participant.completion_code not in everything
    assert "class of May" not in everything
    assert find_study(study.slug).pseudonym_key not in everything
    today = timezone.now().date().isoformat()
    for name in ("trials", "participants", "post_survey", "events"):
        for row in table(tmp_path / "public", name):
            for column in ("shown_at", "submitted_at", "consented_at", "completed_at", "at"):
                assert row.get(column, "") in ("", today)
    assert {row["data"] for row in table(tmp_path / "public", "events")} == {""}


def test_public_variant_has_the_same_answers_under_stable_pseudonyms(study, tmp_path):
    write_bundle(study, tmp_path / "internal")
    write_bundle(study, tmp_path / "public", public=True)
    write_bundle(study, tmp_path / "again", public=True)
    assert (tmp_path / "public" / "trials.csv").read_bytes() == (
        tmp_path / "again" / "trials.csv"
    ).read_bytes()

    def answers(folder: Path) -> list[tuple[str, ...]]:
        columns = (
            "condition",
            "item_id",
            "position",
            "server_ms",
            "rated_correct",
            "certainty",
            "excluded_by",
        )
        return sorted(tuple(row[name] for name in columns) for row in table(folder, "trials"))

    assert answers(tmp_path / "internal") == answers(tmp_path / "public")
    ids = {row["participant_id"] for row in table(tmp_path / "public", "trials")}
    assert ids == {row["participant_id"] for row in table(tmp_path / "public", "participants")}
    assert len(ids) == 3
    order = [row["participant_id"] for row in table(tmp_path / "public", "participants")]
    assert order == sorted(order)  # not the order in which they came
    assert len(load_bundle(tmp_path / "public").trials) == 7


def test_a_changed_version_is_not_exported(study, tmp_path):
    with connection.cursor() as cursor:  # the program itself refuses to change what was frozen
        cursor.execute("UPDATE studyapp_studyversion SET hash = 'other'")
    with pytest.raises(AlteredVersion, match="v1: the frozen content does not give the hash other"):
        write_bundle(study, tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


def test_versions_with_other_rules_are_told_apart(tmp_path):
    first = make_definition(exclusions=[])
    study = create_study(workspace=workspaces.main(), definition=first, by=None)
    launch(study)
    make_participant(study=study, items=1)
    rule = {"name": "too-fast", "kind": "min_time", "clock": "client_total", "seconds": 30}
    second = type(first).model_validate({**first.model_dump(mode="json"), "exclusions": [rule]})
    study = create_study(workspace=workspaces.main(), definition=second, by=None)
    launch(study)
    make_participant(study=study, items=1)
    write_bundle(study, tmp_path / "out")
    submitted = [row for row in table(tmp_path / "out", "trials") if row["submitted_at"]]
    assert [(row["version"], row["excluded_by"]) for row in submitted] == [("1", ""), ("2", "too-fast")]
    rules = document(tmp_path / "out", "rules.json")
    assert [rule["name"] for rule in rules["rules"]] == ["too-fast"]
    assert rules["by_version"]["1"] == []


def test_missing_scores_are_said(study, tmp_path, capsys):
    call_command("export_results", study.slug, out=tmp_path / "out")
    entry = next(iter(document(tmp_path / "out", "scores.json")["systems"].values()))
    assert entry["scores"]["em"] is None
    assert "manage.py score --dataset" in entry["reasons"]["em"]
    assert "manage.py score --dataset" in capsys.readouterr().err


def test_scores_of_the_conditions_run(study, tmp_path, capsys):
    run = study.versions.get().conditions.get(run__isnull=False).run
    Score.objects.create(
        run=run, schema_version=1, n=6, values={"em": 0.5}, reasons={}, computed_at=timezone.now()
    )
    call_command("export_results", study.slug, out=tmp_path / "out")
    scores = document(tmp_path / "out", "scores.json")
    assert scores["dataset"] == run.dataset.name
    assert scores["systems"][run.system.name]["scores"] == {"em": 0.5}
    assert scores["systems"][run.system.name]["source"] == "computed"
    assert capsys.readouterr().err == ""


def test_a_study_without_participants(tmp_path):
    written = write_bundle(make_study(), tmp_path / "out", file_format="parquet")
    assert written.rows["trials"] == 0
    assert document(tmp_path / "out", "flow.json") == {"modes": {}}
    assert document(tmp_path / "out", "rules.json")["counts"] == {}


def test_not_launched(tmp_path):
    with pytest.raises(NotFound, match="never launched"):
        write_bundle(make_study(launched=False), tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


def test_unknown_study(study, tmp_path):
    with pytest.raises(CommandError, match=f"unknown study 'elsewhere'; known studies: {study.slug}"):
        call_command("export_results", "elsewhere", out=tmp_path / "out")


def test_an_earlier_bundle_is_replaced_whole(study, tmp_path):
    write_bundle(study, tmp_path / "out", file_format="jsonl")
    write_bundle(study, tmp_path / "out", file_format="csv")
    assert not list((tmp_path / "out").glob("*.jsonl"))
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_nothing_else_is_replaced(study, tmp_path):
    out = tmp_path / "out"
    out.mkdir()
    (out / "thesis.txt").write_text("mine")
    with pytest.raises(BadFile, match=r"holds 'thesis\.txt', which is not part of a bundle"):
        write_bundle(study, out)
    assert (out / "thesis.txt").read_text() == "mine"
    with pytest.raises(BadFile, match="is not a folder"):
        write_bundle(study, out / "thesis.txt")
    other = make_study()
    write_bundle(other, tmp_path / "other")
    with pytest.raises(BadFile, match=f"is the bundle of study '{other.slug}'"):
        write_bundle(study, tmp_path / "other")
    assert document(tmp_path / "other", "study_version.json")["study"] == other.slug


def test_a_failure_leaves_the_old_bundle(study, tmp_path, monkeypatch):
    write_bundle(study, tmp_path / "out")
    before = (tmp_path / "out" / "trials.csv").read_bytes()
    monkeypatch.setattr(bundle.documents, "build_flow", lambda data: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        write_bundle(study, tmp_path / "out")
    assert (tmp_path / "out" / "trials.csv").read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_queries_do_not_grow_with_participants(study, tmp_path, django_assert_max_num_queries):
    with django_assert_max_num_queries(30):
        write_bundle(study, tmp_path / "one")
    for _ in range(5):
        make_participant(study=study, items=2)
    with django_assert_max_num_queries(30):
        write_bundle(study, tmp_path / "two")


@pytest.mark.database
@pytest.mark.django_db(transaction=True)
def test_one_moment_is_exported(tmp_path, monkeypatch):
    """Somebody who answers while the export runs is in no file of it."""
    study = make_study(items=2)
    participant = make_participant(study=study)
    write_rows = rows.build_participant_rows

    def answer_first(data):
        _in_another_connection(lambda: answer_item(Participant.objects.get(pk=participant.pk)))
        return write_rows(data)

    monkeypatch.setattr(rows, "build_participant_rows", answer_first)
    write_bundle(study, tmp_path / "out")
    assert Participant.objects.get().items_submitted == 1
    assert table(tmp_path / "out", "participants")[0]["items_submitted"] == "0"
    assert {row["submitted_at"] for row in table(tmp_path / "out", "trials")} == {""}
    assert document(tmp_path / "out", "rules.json")["counts"] == {}


def _in_another_connection(act):
    def work():
        try:
            act()
        finally:
            connection.close()

    with ThreadPoolExecutor(1) as pool:
        pool.submit(work).result()
