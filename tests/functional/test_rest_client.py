"""The Python client on a running site, and the notebook that shows it."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.functional.pages import ADD_OWNER
from tests.paths import ROOT
from tests.site import Site
from tests.studyapp.questions import entries
from touchstone import client as api
from touchstone.client import Client
from touchstone.client.rows import JobRow

NOTEBOOKS = ROOT / "docs/tutorials"
PRINTED = {
    "rest-api.ipynb": (
        "20 questions",
        "second-fact done 20 of 20",
        "conditions.0.system",
        "problems: []",
        "bot ground truth 4 completed",
        "ground truth 20 ratings, mean certainty",
        "build/rest-api/ferries.zip True",
        "422 ",
    ),
    "annotation-api.ipynb": (
        "Red squares 2 annotators per item",
        "find 2 Mark each square as tightly as you can.",
        "scene-1 [('scene-1-left.png', 160, 120), ('scene-1-right.png', 160, 120)]",
        "annotator red-squares True",
        "scene-3 two red squares: False",
        "8 of 8 annotations",
        "4 items complete",
        "f1_50 1.0 from",
        "scene-1 accepted",
        "scene-4 adjudicated version 1",
        "find F1 1.0",
        "4 items, 4 with gold",
        "closed",
        "422 layers.0.objects.0",
        "412 Somebody changed this since.",
    ),
}
ADD_TOKEN = (
    ADD_OWNER.format(name="ada", password="only for this test")
    + """
from accounts.actions.tokens import create_token
from accounts.models import Scope
print(create_token(name="client", scope=Scope.MANAGE, days=7, by=user).key)
"""
)
STUDY = """
study: night-ferries
title: Do the explanations help?
dataset: ferries-of-the-client
conditions: [{system: fake}, {ground_truth: true}]
items: {count: 4, seed: 1}
consent: You take part in a study. You may stop at any time.
instructions: Judge each answer.
"""
ITEM = {
    "external_id": "nfl-1",
    "kind": "spans",
    "program": "count(find[goals])",
    "text": "How many goals were kicked?",
    "passage": "Ada kicked a 30-yard goal. Bo missed.",
    "answer": 1,
}


@pytest.fixture(scope="module")
def token(site: Site) -> str:
    return site.manage("shell", "--no-imports", "--command", ADD_TOKEN).split()[-1]


@pytest.fixture
def client(site: Site, token: str) -> Iterator[Client]:
    with Client(site.url, token, transport=httpx.HTTPTransport()) as client:
        yield client


@pytest.fixture(scope="module")
def questions(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("questions") / "questions.json"
    path.write_text(json.dumps(entries(12)), encoding="utf-8")
    return path


def test_a_study_from_its_data_to_its_report(
    site: Site, client: Client, questions: Path, tmp_path: Path
) -> None:
    updates: list[JobRow] = []
    job = client.imports.dataset(questions, workspace="main", name="ferries-of-the-client", format="hotpot")
    done = client.jobs.wait(job["id"], progress=updates.append, timeout=60, every=0.1)
    assert updates[-1] == done == client.jobs.get(job["id"])
    [dataset] = client.datasets.list(name="ferries-of-the-client")
    assert dataset["questions"] == len(list(client.datasets.questions(dataset["id"]))) == 12

    run = client.runs.start(dataset=dataset["id"], system="fake")
    run = client.runs.wait(run["id"], timeout=60, every=0.1)
    assert (run["predictions"], run["failures"]) == (12, 0)
    assert list(client.runs.errors(run["id"])) == []
    assert {row["question"] for row in client.runs.predictions(run["id"])} == {
        row["external_id"] for row in client.datasets.questions(dataset["id"])
    }
    with pytest.raises(api.NotFound):
        client.runs.scores(run["id"])
    site.manage("score", "--dataset", "ferries-of-the-client")
    assert client.runs.scores(run["id"])["n"] == 12
    assert [row["name"] for row in client.systems.list()] == ["fake"]

    study = client.studies.create(STUDY, workspace="main")
    assert (study["slug"], study["status"]) == ("night-ferries", "draft")
    first = client.studies.draft("night-ferries")
    changed = client.studies.replace_draft(
        "night-ferries", {**first.definition, "title": "Another title"}, etag=first.etag
    )
    assert (changed.problems, changed.definition["title"]) == ([], "Another title")
    with pytest.raises(api.Conflict):
        client.studies.replace_draft("night-ferries", first.definition, etag=first.etag)
    assert [check["check"] for check in changed.checks if check["state"] == "undecided"] == ["rehearsal"]
    accepted = {"rehearsal": "a study of a test"}
    assert client.studies.launch("night-ferries", accepted)["status"] == "open"
    assert client.studies.pause("night-ferries")["status"] == "paused"
    assert client.studies.resume("night-ferries")["status"] == "open"
    link = client.studies.create_link("night-ferries", label="class", quota=3)
    assert [row["label"] for row in client.studies.links("night-ferries")] == ["class"]
    assert "/join/" in link["address"]

    site.manage("simulate_participants", "night-ferries", "-n", "6", "--seed", "3")
    [version] = client.studies.versions("night-ferries")
    assert version["number"] == 1
    modes = client.studies.progress("night-ferries")["modes"]
    completed = {mode["mode"]: sum(row["completed"] for row in mode["conditions"]) for mode in modes}
    assert completed == {"live": 0, "bot": 6}
    assert len(list(client.studies.rows("night-ferries", "trials"))) == 24
    assert client.studies.close("night-ferries")["status"] == "closed"
    bundle = client.studies.export("night-ferries", tmp_path / "bundle.zip", format="jsonl", timeout=60)
    assert "night-ferries/trials.jsonl" in zipfile.ZipFile(bundle).namelist()
    report = client.studies.report("night-ferries", tmp_path / "report.zip", resamples=50, timeout=120)
    assert "night-ferries-report/report.html" in zipfile.ZipFile(report).namelist()
    assert [path.name for path in sorted(tmp_path.iterdir())] == ["bundle.zip", "report.zip"]


def test_a_file_that_cannot_be_imported(client: Client, tmp_path: Path) -> None:
    path = tmp_path / "wrong.json"
    path.write_text("[{}]", encoding="utf-8")
    preview = client.imports.dataset(path, workspace="main", name="wrong", format="hotpot", dry_run=True)
    result = client.jobs.wait(preview["id"], timeout=60, every=0.1)["result"]
    assert result is not None
    assert {refusal["field"] for refusal in result["refused"]} >= {"entry 1: question", "entry 1: answer"}
    with pytest.raises(api.Conflict):
        client.imports.apply(preview["id"])
    job = client.imports.dataset(path, workspace="main", name="wrong", format="hotpot")
    with pytest.raises(api.JobFailed, match=r"wrong\.json") as failed:
        client.jobs.wait(job["id"], timeout=60, every=0.1)
    assert failed.value.job["status"] == "failed"
    with pytest.raises(api.Conflict):
        client.jobs.cancel(job["id"])


def test_people_of_a_workspace(client: Client) -> None:
    [workspace] = client.workspaces.list()
    assert client.workspaces.get(workspace["slug"])["roles"] == ["owner"]
    assert client.workspaces.rename("main", name="Our group")["name"] == "Our group"
    invitation = client.workspaces.invite("main", role="analyst", days=3)
    assert [row["id"] for row in client.workspaces.invitations("main")] == [invitation["id"]]
    client.workspaces.revoke("main", invitation["id"])
    assert list(client.workspaces.invitations("main")) == []
    client.workspaces.give_role("main", user="ada", role="viewer")
    [member] = client.workspaces.end_role("main", user="ada", role="viewer")
    assert member["roles"] == ["owner"]
    with pytest.raises(api.NotAllowed):
        client.workspaces.create("another", name="Another")


def test_an_annotation_project(client: Client) -> None:
    client.projects.create("goals", workspace="main", title="Goals", kind="spans")
    assert client.projects.add_items("goals", [ITEM], dry_run=True)["added"] == 1
    assert client.projects.add_items("goals", [ITEM])["added"] == 1
    assert client.projects.add_items("goals", [ITEM])["unchanged"] == 1
    [item] = client.projects.items("goals", status="no gold")
    start, end = item["tokens"][3][0], item["tokens"][4][1]
    span = {"id": "a", "span": [start, end], "tokens": [3, 5], "quote": item["passage"][start:end]}
    nodes = {"1": {"state": "done", "objects": [span], "value": None}}
    with pytest.raises(api.Invalid) as refused:
        client.projects.set_gold("goals", item["id"], {"layers": {"x": {}}})
    assert refused.value.errors
    gold = client.projects.set_gold("goals", item["id"], {"layers": nodes})
    assert list(client.projects.gold("goals")) == [gold]
    assert list(client.projects.annotations("goals")) == []
    assert client.projects.get("goals")["gold"] == 1
    assert [row["slug"] for row in client.projects.list()] == ["goals"]


def test_a_wrong_token_and_a_site_that_is_not_there(site: Site) -> None:
    with Client(site.url, "tst_wrong", transport=httpx.HTTPTransport()) as client:
        with pytest.raises(api.NotAuthenticated, match="not a valid API token"):
            next(client.datasets.list())
        with pytest.raises(api.NotAuthenticated):
            next(client.studies.rows("night-ferries", "trials"))
    with (
        Client("http://127.0.0.1:9", "tst_any", transport=httpx.HTTPTransport()) as client,
        pytest.raises(api.Unreachable),
    ):
        next(client.datasets.list())


@pytest.mark.soak
@pytest.mark.parametrize("notebook", PRINTED)
def test_the_notebook_runs(
    notebook: str,
    site: Site,
    token: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "manage.py").symlink_to(ROOT / "manage.py")
    monkeypatch.chdir(tmp_path)
    for name, value in {**site.env, "TOUCHSTONE_URL": site.url, "TOUCHSTONE_TOKEN": token}.items():
        monkeypatch.setenv(name, value)
    names: dict[str, Any] = {}
    for cell in json.loads((NOTEBOOKS / notebook).read_text("utf-8"))["cells"]:
        assert not cell.get("outputs")  # what it prints is not part of the project
        if cell["cell_type"] == "code":
            exec(compile("".join(cell["source"]), cell["id"], "exec"), names)  # noqa: S102 - our own page
    printed = capfd.readouterr().out
    assert [line for line in PRINTED[notebook] if line not in printed] == []
