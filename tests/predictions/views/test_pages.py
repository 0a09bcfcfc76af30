"""Tests of the pages of data and systems: upload, preview, lists, runs."""

import csv
import gzip
import html
import io
import json
import zipfile
from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from accounts.models import AuditEntry, Role, User
from foundation.imports.findings import MESSAGES
from jobs.actions.jobs import create_job, run_job
from jobs.models import Job
from modelserver.serving.fake_server import FakeModelServer
from modelserver.wire.schema import SystemInfo
from predictions.models import Dataset, PredictionRun, Question
from studyapp.actions.rehearsals import start_rehearsal
from tests import workspaces
from tests.studyapp.factories import make_dataset, make_run, make_study, make_user
from tests.studyapp.questions import entry
from tests.studyapp.serving import eager, failing, made_dataset, model_server, no_model_server

__all__ = ["eager", "model_server", "no_model_server"]

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("eager")]


@pytest.fixture(autouse=True)
def _folder(settings: Any, tmp_path: Path) -> None:
    settings.JOB_FOLDER = tmp_path / "jobs"


@pytest.fixture
def researcher() -> Client:
    return client_of(Role.RESEARCHER)


def client_of(role: Role) -> Client:
    client = Client()
    client.force_login(make_user(role))
    return client


def upload(client: Client, content: bytes, name: str = "films.json", **fields: str) -> Any:
    """Upload questions on the page, and return the page that follows."""
    posted = {
        "file": SimpleUploadedFile(name, content), "format": "hotpot", "name": "films",
        "workspace": str(workspaces.main().pk), **fields,
    }  # fmt: skip
    return client.post("/data/new/", posted, follow=True)


def questions(*rows: dict[str, Any]) -> bytes:
    return "\n".join(map(json.dumps, rows)).encode()


def test_upload_preview_apply_and_delete(researcher: Client) -> None:
    page = upload(researcher, questions(entry(0), entry(1)), licence="CC BY-SA 4.0")
    assert b"A new dataset will be created." in page.content
    assert entry(1)["question"].encode() in page.content
    assert not Dataset.objects.exists()
    [preview] = Job.objects.all()
    done = researcher.post(f"/data/imports/{preview.pk}/apply/", follow=True)
    dataset = Dataset.objects.get()
    assert f"/data/{dataset.pk}/".encode() in done.content
    assert (dataset.question_count, dataset.licence) == (2, "CC BY-SA 4.0")
    assert b"CC BY-SA 4.0" in researcher.get("/data/").content
    assert researcher.post(f"/data/{dataset.pk}/delete/").status_code == 302
    assert not Dataset.objects.exists()


def test_applied_twice_is_one_dataset(researcher: Client) -> None:
    upload(researcher, questions(entry(0)))
    [preview] = Job.objects.all()
    for _ in range(2):
        researcher.post(f"/data/imports/{preview.pk}/apply/")
    assert Job.objects.count() == 2
    assert Question.objects.count() == 1


def test_every_mistake_is_listed_with_file_line_and_field(researcher: Client) -> None:
    rows = [entry(0, answer=None), entry(1), entry(2, question=3, context=[])]
    page = upload(researcher, questions(*rows)).content.decode()
    [preview] = Job.objects.all()
    listed = [(refusal["file"], refusal["line"], refusal["field"]) for refusal in preview.result["refused"]]
    assert listed == [
        ("films.json", 1, "entry 1 (q0): answer"),
        ("films.json", 3, "entry 3 (q2): question"),
        ("films.json", 3, "entry 3 (q2): context"),
    ]
    assert "entry 3 (q2): context" in page
    assert "Import now" not in page
    researcher.post(f"/data/imports/{preview.pk}/apply/")
    assert not Dataset.objects.exists()


def test_a_preview_can_be_discarded(researcher: Client) -> None:
    upload(researcher, questions(entry(0)))
    [preview] = Job.objects.all()
    assert "Import now" in researcher.get(f"/data/imports/{preview.pk}/").text
    page = researcher.post(f"/data/imports/{preview.pk}/discard/", follow=True).text
    assert "Preview discarded. Nothing was stored." in page
    assert f"/data/imports/{preview.pk}/" not in page
    page = researcher.get(f"/data/imports/{preview.pk}/").text
    assert "Import now" not in page
    assert "This preview was discarded" in page
    researcher.post(f"/data/imports/{preview.pk}/apply/")
    assert not Dataset.objects.exists()


def test_an_applied_preview_is_not_discarded(researcher: Client) -> None:
    upload(researcher, questions(entry(0)))
    [preview] = Job.objects.all()
    researcher.post(f"/data/imports/{preview.pk}/apply/")
    page = researcher.post(f"/data/imports/{preview.pk}/discard/", follow=True).text
    assert "This preview is applied." in page
    preview.refresh_from_db()
    assert preview.upload


def test_jobs_tell_previews_imports_and_refused_files_apart(researcher: Client) -> None:
    upload(researcher, questions(entry(0, answer=None)))
    for address in ("/jobs/", "/start/"):
        page = researcher.get(address).text
        assert "Import of a dataset (preview)" in page
        assert "Refused</span>" in page
        assert "Done</span>" not in page


def test_a_wrong_name_is_found_before_the_file_is_sent(researcher: Client) -> None:
    assert r'pattern="[a-zA-Z0-9_\-]+"' in researcher.get("/data/new/").text
    page = researcher.post("/data/new/", {"name": "two words"}).content.decode()
    assert "Use letters without accents, digits, hyphens and underscores only." in page


GERMAN = {"Accept-Language": "de"}


def shown(client: Client, content: bytes, name: str = "films.json") -> str:
    """Return the German page of an upload, whose job keeps English."""
    upload(client, content, name)
    job = Job.objects.latest("pk")
    page = client.get(f"/data/imports/{job.pk}/", headers=GERMAN)
    return html.unescape(page.content.decode())


def test_reasons_are_german_on_german_pages_and_english_in_rest(researcher: Client) -> None:
    page = shown(researcher, questions(entry(0, answer=None), entry(1), entry(1)))
    assert "muss ein Text sein; gefunden: null" in page  # pydantic's error
    assert ">Eintrag 1 (q0): answer</td>" in page
    assert "'q1' steht schon in Zeile 2; geben Sie jedem Eintrag eine eigene ID" in page  # the reader's
    job = Job.objects.latest("pk")
    reasons = [refusal["reason"] for refusal in job.result["refused"]]
    assert reasons == [
        "must be text; found null",
        "'q1' is already on line 2; give each entry its own ID",
    ]
    answer = researcher.get(f"/api/v1/jobs/{job.pk}/", headers=GERMAN).json()["result"]
    assert [refusal["reason"] for refusal in answer["refused"]] == reasons
    assert MESSAGES not in answer


def test_reasons_of_broken_json_and_zip_files_are_german(researcher: Client) -> None:
    assert "kein JSON: ein Wert wird erwartet" in shown(researcher, b'[{"_id": }]')
    assert "mit den Feldern einer Frage, gefunden: eine Liste von 2" in shown(researcher, b"[[1, 2]]")
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("a.json", "[]")
        archive.writestr("b.json", "[]")
    page = shown(researcher, packed.getvalue(), "films.zip")
    assert "muss genau eine Datei enthalten und enthält 2" in page


def test_reasons_of_an_older_version_stay_as_they_are(researcher: Client) -> None:
    upload(researcher, questions(entry(0, answer=None)))
    job = Job.objects.get()
    del job.result[MESSAGES]
    job.save()
    page = researcher.get(f"/data/imports/{job.pk}/", headers=GERMAN).content.decode()
    assert "must be text; found null" in page


def test_a_reason_holds_nothing_that_a_database_refuses(researcher: Client) -> None:
    page = shown(researcher, questions(entry(0, question="\0" * 3000), entry(1, answer=["\ud800"])))
    assert "enthält das Zeichen NUL, das nicht gespeichert werden kann" in page
    assert "muss ein Text sein; gefunden: eine Liste von 1" in page
    stored = json.dumps(Job.objects.get().result)
    assert "\\u0000" not in stored
    assert "\\ud800" not in stored


def test_an_error_that_ends_a_job_is_german_on_german_pages(researcher: Client) -> None:
    user = User.objects.get()
    options = {"dataset": 0, "system": "reader"}
    job = create_job(kind="import_predictions", workspace=workspaces.main(), by=user, options=options)
    run_job(job_id=job.pk)
    job.refresh_from_db()
    assert job.error == "The dataset of these predictions is not there any more."
    assert job.result is None
    german = "Den Datensatz dieser Vorhersagen gibt es nicht mehr."
    assert german in researcher.get(f"/jobs/{job.pk}/", headers=GERMAN).content.decode()
    assert researcher.get(f"/api/v1/jobs/{job.pk}/", headers=GERMAN).json()["error"] == job.error
    Job.objects.update(error_message=None)  # as in an older version
    assert job.error in researcher.get(f"/jobs/{job.pk}/", headers=GERMAN).content.decode()


def test_a_gone_upload_is_refused(researcher: Client, settings: Any) -> None:
    upload(researcher, questions(entry(0)))
    [preview] = Job.objects.all()
    (Path(settings.JOB_FOLDER) / preview.upload).unlink()
    page = researcher.post(f"/data/imports/{preview.pk}/apply/", follow=True)
    assert b"Upload it again." in page.content
    assert not Dataset.objects.exists()


def packed(content: bytes, kind: str) -> bytes:
    if kind == "gz":
        return gzip.compress(content)
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("folder/films.json", content)
    return file.getvalue()


@pytest.mark.parametrize("kind", ["gz", "zip"])
def test_packed_files(researcher: Client, kind: str) -> None:
    content = packed(questions(entry(0), entry(1)), kind)
    page = upload(researcher, content, name=f"films.json.{kind}")
    assert b"A new dataset will be created." in page.content
    [preview] = Job.objects.all()
    assert preview.result["added"] == 2


def test_an_archive_of_two_files_is_refused(researcher: Client) -> None:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("a.json", "[]")
        archive.writestr("b.json", "[]")
    page = upload(researcher, file.getvalue(), name="films.zip")
    assert b"must hold exactly one file" in page.content


def test_predictions_from_a_file(researcher: Client) -> None:
    dataset = make_dataset(questions=3)
    content = {
        "answer": {"q1": "Kolwen 1", "q2": "Rome", "other": "x"},
        "sp": {"q1": [["Ada Brenn", 0], ["Ada Brenn", 9]]},
    }
    file = SimpleUploadedFile("answers.json", json.dumps(content).encode())
    address = f"/data/{dataset.pk}/predictions/"
    page = researcher.post(address, {"file": file, "system": "mine"}, follow=True)
    assert not PredictionRun.objects.exists()
    [preview] = Job.objects.all()
    kinds = {repair["kind"]: repair["count"] for repair in preview.result["repairs"]}
    assert kinds == {
        "without_prediction": 1, "without_fact_list": 1, "stray_predicted_facts": 1, "unknown_ids": 1,
    }  # fmt: skip
    assert b"Import now" in page.content
    researcher.post(f"/data/imports/{preview.pk}/apply/")
    run = PredictionRun.objects.get()
    assert run.predictions.count() == 2
    shown = researcher.get(f"/systems/runs/{run.pk}/").content
    assert b"mine" in shown
    assert b"Uploaded file" in shown


def test_malformed_facts_are_counted_or_refused(researcher: Client) -> None:
    dataset = make_dataset(questions=2)
    content = json.dumps({"answer": {"q1": "Rome"}, "sp": {"q1": [["Ada Brenn"]]}}).encode()
    for strict in ({}, {"strict": "on"}):
        file = SimpleUploadedFile("answers.json", content)
        form = {"file": file, "system": "mine", **strict}
        page = researcher.post(f"/data/{dataset.pk}/predictions/", form, follow=True).content.decode()
        assert ("Import now" in page) is not bool(strict)
        assert ("they score as in the official script" in page) is not bool(strict)
    lax, strictly = Job.objects.order_by("pk")
    assert [entry["count"] for entry in lax.result["repairs"] if entry["kind"] == "malformed_facts"] == [1]
    assert lax.result["repairs"][0]["examples"] == ["answers.json:1: sp.q1[0]"]
    assert [(entry["line"], entry["field"]) for entry in strictly.result["refused"]] == [(1, "sp.q1[0][1]")]


def test_wrong_predictions_name_the_field(researcher: Client) -> None:
    dataset = make_dataset(questions=2)
    content = '{"answer": {"q1": 3},\n "sp": {},\n "type": {"q2": "perhaps"}}'
    file = SimpleUploadedFile("answers.json", content.encode())
    researcher.post(f"/data/{dataset.pk}/predictions/", {"file": file, "system": "mine"})
    [preview] = Job.objects.all()
    listed = [(refusal["line"], refusal["field"]) for refusal in preview.result["refused"]]
    assert listed == [(1, "answer.q1"), (3, "type.q2")]


def test_a_used_dataset_says_what_uses_it(researcher: Client) -> None:
    study = make_study()
    start_rehearsal(study=study, by=None)
    run = PredictionRun.objects.latest("pk")
    for address in (f"/data/{run.dataset_id}/delete/", f"/systems/runs/{run.pk}/delete/"):
        page = researcher.post(address, follow=True).content.decode()
        assert "It cannot be deleted" in page
        assert page.replace("&#x27;", "'").count(f"the study “{study.title}”") == 1
    assert PredictionRun.objects.filter(pk=run.pk).exists()


def test_an_unused_run_is_deleted(researcher: Client) -> None:
    run = make_run(dataset=make_dataset())
    researcher.post(f"/systems/runs/{run.pk}/delete/")
    assert not PredictionRun.objects.exists()


def test_lists_follow_keys_and_search_finds(researcher: Client) -> None:
    dataset = make_dataset(questions=120)
    address = f"/data/{dataset.pk}/questions/"
    first = researcher.get(address).context["page"]
    second = researcher.get(f"{address}{first.next}").context["page"]
    back = researcher.get(f"{address}{second.previous}").context["page"]
    assert [len(page.rows) for page in (first, second)] == [50, 50]
    assert [question.pk for question in back.rows] == [question.pk for question in first.rows]
    assert (first.previous, back.previous) == ("", "")
    matches = researcher.get(f"{address}?q=film 77").context["page"].rows
    assert [question.external_id for question in matches] == ["q77"]
    assert b"No questions found" in researcher.get(f"{address}?q=zebra").content
    assert researcher.get(f"{address}?after=x&q=%00").status_code == 200


def test_questions_sort_by_id_and_come_as_a_safe_file(researcher: Client) -> None:
    dataset = make_dataset(questions=60)
    dataset.questions.filter(external_id="q7").update(answer="=1+1")
    address = f"/data/{dataset.pk}/questions/?sort=-id"
    first, second = (researcher.get(f"{address}&page={number}").context["page"] for number in (1, 2))
    listed = [question.external_id for page in (first, second) for question in page.rows]
    assert listed == sorted(listed, reverse=True)
    assert len(listed) == 60
    assert (first.previous, second.previous) == ("", "?sort=-id&page=1")
    assert (first.next, second.next) == ("?sort=-id&page=2", "")
    response = researcher.get(f"/data/{dataset.pk}/questions.csv", {"q": "q7"})
    content = b"".join(response.streaming_content).decode()  # type: ignore[attr-defined]
    rows = list(csv.DictReader(io.StringIO(content)))
    assert [row["id"] for row in rows] == ["q7"]
    assert rows[0]["answer"] == "'=1+1"
    assert AuditEntry.objects.get(kind="export_downloaded").data == {"kind": "questions"}


def test_runs_and_scores_sort_apart(researcher: Client) -> None:
    dataset = make_dataset(questions=2)
    for system in ("b", "a", "c"):
        make_run(dataset=dataset, system=system)
    rows = researcher.get(f"/data/{dataset.pk}/?runs=system&scores=-em").context["rows"]
    assert [row.run.system.name for row in rows] == ["a", "b", "c"]


def test_a_question_shows_all_answers_side_by_side(researcher: Client) -> None:
    dataset = make_dataset(questions=2)
    make_run(dataset=dataset, system="first")
    make_run(dataset=dataset, system="second", right=3)
    question = dataset.questions.get(external_id="q2")
    page = researcher.get(f"/data/questions/{question.pk}/").content.decode()
    assert "Elsewhere" in page
    assert "Exact match" in page
    assert page.count('class="marker c1"') == 2
    assert page.count('class="marker c2"') == 2


@pytest.mark.parametrize(
    ("method", "words"),
    [("occlusion", "supported the answer"), ("integrated-gradients", "for or against it")],
)
def test_weights_of_words_say_what_they_mean(researcher: Client, method: str, words: str) -> None:
    run = make_run(dataset=make_dataset(questions=1))
    run.predictions.update(explanation_weights=[["Kolwen", 0, 0, 6, 1.0]], question_weights=[[0, 3, 2.0]])
    PredictionRun.objects.update(saliency={"method": method})
    question = run.dataset.questions.get()
    page = researcher.get(f"/data/questions/{question.pk}/").content.decode()
    assert words in page
    assert f"strong: </span>{question.text[:3]}</mark>{question.text[3:]}" in page
    assert "medium: </span>Kolwen</mark>" in page


def test_a_server_that_is_down_shows_as_such(researcher: Client, no_model_server: None) -> None:
    page = researcher.get("/systems/")
    assert b"Does not answer" in page.content
    assert b"No model server serves" in researcher.get("/systems/predict/").content


def test_only_systems_of_the_right_kind_are_offered(
    researcher: Client, model_server: FakeModelServer
) -> None:
    page = researcher.get("/systems/").content.decode()
    assert "Answers questions" in page
    form = researcher.get("/systems/predict/").context["form"]
    assert ("fake", "fake") in form.fields["system"].choices
    names = [name for name, _ in researcher.get("/systems/execute/").context["form"].fields["system"].choices]
    assert "fake" not in names


def test_a_system_of_other_programs_is_refused_before_it_starts(
    researcher: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    systems = [
        SystemInfo(
            name=f"over-{kind}", revision="1", description="", loaded=True, kind="modular", programs=kind
        )
        for kind in ("boxes", "spans")
    ]
    for module in ("forms", "runs"):
        monkeypatch.setattr(f"predictions.views.{module}.list_served_systems", lambda: systems)
    scenes, games = (make_dataset(name=name, questions=1) for name in ("scenes", "games"))
    scenes.questions.update(images=["left.png"])
    games.questions.update(context=[["Game", ["Ada kicked."]]])
    for dataset, wrong, right in ((scenes, "spans", "boxes"), (games, "boxes", "spans")):
        chosen = {"dataset": dataset.pk, "system": f"over-{wrong}"}
        refused = researcher.get("/systems/execute/", chosen)
        assert refused.status_code == 422
        assert b"This system executes programs over" in refused.content
        assert b"Start run" not in refused.content
        assert researcher.post("/systems/execute/", chosen).status_code == 422
        fits = researcher.get("/systems/execute/", {**chosen, "system": f"over-{right}"})
        assert b"Start run" in fits.content
    assert not PredictionRun.objects.exists()


def test_programs_are_offered_for_questions_that_they_can_look_at(researcher: Client) -> None:
    dataset = make_dataset(questions=1)
    address = f"/data/{dataset.pk}/"
    assert b"Execute programs" not in researcher.get(address).content
    Question.objects.update(context=[["One article", ["One sentence."]]])
    assert b"Execute programs" in researcher.get(address).content


def test_a_run_with_failures_is_not_done(researcher: Client, model_server: FakeModelServer) -> None:
    dataset = made_dataset("films", [entry(0), failing(1, "[[fail]]")])
    page = researcher.post("/systems/predict/", {"dataset": dataset.pk, "system": "fake"}, follow=True)
    run = PredictionRun.objects.get()
    assert b"Done with 1 failure" in page.content
    assert b"Failures by reason" in page.content
    assert b"The system failed" in page.content
    german = researcher.get(f"/systems/runs/{run.pk}/", headers={"accept-language": "de"}).content.decode()
    assert "Das System ist gescheitert" in german
    assert "prediction_failed" in german
    assert b"Done with 1 failure" in researcher.get("/systems/").content
    listed = b"".join(researcher.get(f"/systems/runs/{run.pk}/failures.csv").streaming_content)  # type: ignore[attr-defined]
    assert listed.decode().splitlines()[0] == "question,reason,message"
    assert len(list(csv.reader(io.StringIO(listed.decode())))) == 2
    researcher.post(f"/systems/runs/{run.pk}/score/")
    shown = researcher.get(f"/systems/runs/{run.pk}/").content
    assert b"Exact match" in shown
    estimated = researcher.get(f"/systems/predict/?dataset={dataset.pk}&system=fake").content
    assert b"will take about" in estimated


@pytest.mark.parametrize("address", ["/data/", "/systems/"])
def test_empty_states(researcher: Client, address: str) -> None:
    assert b'class="empty"' in researcher.get(address).content


def test_analysts_see_and_change_nothing() -> None:
    run = make_run(dataset=make_dataset())
    analyst = client_of(Role.ANALYST)
    page = analyst.get(f"/data/{run.dataset_id}/").content
    assert b"Delete dataset" not in page
    assert b"Upload" not in page
    assert analyst.get("/data/new/").status_code == 403
    assert analyst.post(f"/systems/runs/{run.pk}/score/").status_code == 403


def test_the_search_finds_datasets_and_systems_of_the_person(researcher: Client) -> None:
    make_run(dataset=make_dataset(name="films"), system="film-reader")
    titles = {str(group.title) for group in researcher.get("/search/?q=film").context["groups"]}
    assert titles >= {"Datasets", "Systems"}
    stranger = client_of(Role.ANNOTATOR)
    assert b"film-reader" not in stranger.get("/search/?q=film").content


CLAIM = {"uid": "a", "claim": "Ada sang.", "label": "SUPPORTED", "context": [["Ada", ["Ada sang."]]]}


def test_claims_are_questions_with_labels(researcher: Client) -> None:
    upload(researcher, questions(CLAIM), format="claims")
    [preview] = Job.objects.all()
    page = researcher.post(f"/data/imports/{preview.pk}/apply/", follow=True)
    assert page.status_code == 200
    question = Question.objects.get()
    assert (question.answer, question.labels) == ("SUPPORTED", ["SUPPORTED", "NOT_SUPPORTED"])
    assert question.wire().labels == ("SUPPORTED", "NOT_SUPPORTED")
    assert b"SUPPORTED, NOT_SUPPORTED" in researcher.get(f"/data/questions/{question.pk}/").content


@pytest.mark.parametrize("top", ["", "scifact/"])
def test_a_folder_of_claims_is_uploaded_as_a_zip_file(researcher: Client, top: str) -> None:
    abstract = {"doc_id": 4, "title": "Cells", "abstract": ["Cells divide."]}
    claim = {"id": 1, "claim": "Cells sing.", "evidence": {}, "cited_doc_ids": [4]}
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr(f"{top}corpus.jsonl", json.dumps(abstract))
        file.writestr(f"{top}claims.jsonl", json.dumps(claim))
    upload(researcher, archive.getvalue(), "scifact.zip", format="scifact")
    [preview] = Job.objects.all()
    assert preview.result["added"] == 1
    researcher.post(f"/data/imports/{preview.pk}/apply/")
    assert Question.objects.get().context == [["Cells", ["Cells divide."]]]


def test_a_file_in_place_of_a_folder_is_refused(researcher: Client) -> None:
    page = upload(researcher, questions(CLAIM), format="fever")
    assert b"expected a zip file of a folder" in page.content


def test_a_reader_of_spans_is_refused_for_labels(researcher: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    upload(researcher, questions(CLAIM), format="claims")
    researcher.post(f"/data/imports/{Job.objects.get().pk}/apply/")
    served = [SystemInfo(name="qi2019", revision="1", description="", loaded=True, spans_only=True)]
    for module in ("forms", "runs"):
        monkeypatch.setattr(f"predictions.views.{module}.list_served_systems", lambda: served)
    posted = {"dataset": str(Dataset.objects.get().pk), "system": "qi2019"}
    page = researcher.post("/systems/predict/", posted)
    assert page.status_code == 422
    assert b"The answers of this dataset are labels (SUPPORTED, NOT_SUPPORTED)" in page.content
    assert not PredictionRun.objects.exists()
