"""A stand-in of a Label Studio ML backend answers runs, and misbehaves.

It follows the documented protocol.
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any
from xml.etree import ElementTree

import pytest
from django.core.exceptions import ValidationError
from django.test import Client

from annotation.actions.backend_runs import predict_items, set_backend
from annotation.actions.data import import_items
from annotation.actions.projects import create_project
from annotation.actions.runs import compute_slice, start_backend_run
from annotation.content.labels import read_label_task
from annotation.content.schemas import Image, ItemRecord
from annotation.errors import Conflict
from annotation.formats.labelled.label_studio_config import build_labelling_config
from annotation.models import Membership, OutputRun, Project, Role, SystemOutput
from annotation.queries.runs import list_failure_reasons
from foundation.errors import RunFailed
from modelserver.wire.errors import Unavailable
from modelserver.wire.schema import ItemError
from tests import workspaces
from tests.annotation.factories import PASSAGE, SPANS, make_member, make_project
from tests.tokens import bearer

pytestmark = [pytest.mark.django_db, pytest.mark.database]

TASK = """
layers:
  - type: spans
    name: Entities
    labels: [Person, Place]
    questions: [{type: choice, name: Certainty, labels: [sure, unsure], required: false}]
  - {type: choice, name: Topic, labels: [sport, science]}
  - {type: rating, name: Quality, required: false}
"""
ADA: dict[str, Any] = {"id": "r", "from_name": "Entities", "to_name": "text", "type": "labels",
       "value": {"start": 0, "end": 3, "text": "Ada", "labels": ["Person"]}}  # fmt: skip
SURE = {"id": "r", "from_name": "Certainty", "to_name": "text", "type": "choices",
        "value": {"start": 0, "end": 3, "choices": ["sure"]}}  # fmt: skip
SPORT = {"from_name": "Topic", "to_name": "text", "type": "choices", "value": {"choices": ["sport"]}}

Answer = Callable[[str, Any], tuple[int, Any]]


def works(path: str, body: Any) -> tuple[int, Any]:
    """Answer as the documentation says."""
    if path == "/health":
        return 200, {"status": "UP", "model_class": "Tagger"}
    if path == "/setup":
        return 200, {"model_version": "v7"}
    results = [{"result": [ADA, SURE, SPORT], "score": 0.9, "model_version": "v7"} for _task in body["tasks"]]
    return 200, {"results": results}


class Backend:
    """A server on a thread of this process that notes what it is asked."""

    def __init__(self) -> None:
        self.answer: Answer = works
        self.asked: list[tuple[str, Any]] = []
        backend = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self._answer()

            do_POST = do_GET  # noqa: N815

            def _answer(self) -> None:
                content = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                body = json.loads(content) if content else None
                backend.asked.append((self.path, body))
                status, reply = backend.answer(self.path, body)
                sent = reply if isinstance(reply, bytes) else json.dumps(reply).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(sent)))
                self.end_headers()
                self.wfile.write(sent)

            def log_message(self, *_args: object) -> None:
                pass

        self.server = HTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True).start()


@pytest.fixture
def backend(settings: Any) -> Iterator[Backend]:
    settings.WEBHOOK_ALLOW_PRIVATE = True
    stand_in = Backend()
    yield stand_in
    stand_in.server.shutdown()
    stand_in.server.server_close()


@pytest.fixture
def manager() -> Membership:
    """The manager of a project with three texts."""
    task = read_label_task(TASK)
    project = create_project(
        slug="plain", title="Plain", kind="spans", workspace=workspaces.main(), by=None, labels=task
    )
    fields = {"kind": "spans", "program": task.text, "text": "", "passage": PASSAGE, "tokens": SPANS.tokens}
    records = [ItemRecord.model_validate(fields | {"external_id": f"i{number}"}) for number in range(3)]
    import_items(records=records, project=project)
    return make_member(project, Role.MANAGER)


def run_all(manager: Membership, url: str) -> OutputRun:
    project = set_backend(project=manager.project, url=url, by=manager.user)
    run = start_backend_run(project=project, by=manager.user)
    keys = list(project.items.values_list("pk", flat=True))
    compute_slice(run_id=run.pk, first=min(keys), last=max(keys))
    return OutputRun.objects.get(pk=run.pk)


def test_it_works(backend: Backend, manager: Membership) -> None:
    run = run_all(manager, backend.url + "/")
    assert (run.system, run.revision, run.backend) == ("Tagger", "v7", backend.url + "/")
    outputs = list(SystemOutput.objects.order_by("item__position"))
    assert len(outputs) == 3
    assert (outputs[0].system, outputs[0].revision, outputs[0].score) == ("Tagger", "v7", 0.9)
    [mark] = outputs[0].marks["1"]
    assert (mark["quote"], mark["label"], mark["answers"]) == ("Ada", "Person", {"Certainty": ["sure"]})
    assert [answer["value"] for answer in outputs[0].marks["2"]] == ["sport"]
    assert [path for path, _body in backend.asked] == ["/health", "/setup", "/predict"]
    setup, predict = (body for _path, body in backend.asked[1:])
    assert (
        setup["schema"] == predict["label_config"] == build_labelling_config(read_label_task(TASK), "spans")
    )
    assert [task["data"]["text"] for task in predict["tasks"]] == [PASSAGE] * 3
    assert [task["annotations"] for task in predict["tasks"]] == [[]] * 3


def test_the_configuration_names_all_controls() -> None:
    view = ElementTree.fromstring(build_labelling_config(read_label_task(TASK), "spans"))  # noqa: S314
    tags = [(element.tag, element.get("name"), element.get("toName")) for element in view]
    assert tags == [
        ("Text", "text", None),
        ("Labels", "Entities", "text"),
        ("Choices", "Certainty", "text"),
        ("Choices", "Topic", "text"),
        ("Rating", "Quality", "text"),
    ]
    assert (
        view[2].attrib | {"perRegion": "true", "whenTagName": "Entities", "choice": "single"}
        == view[2].attrib
    )
    assert [label.get("value") for label in view[1]] == ["Person", "Place"]
    boxes = read_label_task('layers: [{type: boxes, name: "A & B", labels: [x]}]')
    view = ElementTree.fromstring(build_labelling_config(boxes, "boxes", 2))  # noqa: S314
    assert [element.get("name") for element in view] == ["image0", "image1", "A & B"]


def test_failures_are_grouped_by_reason(backend: Backend, manager: Membership) -> None:
    first = manager.project.items.earliest("position").pk

    def answer(path: str, body: Any) -> tuple[int, Any]:
        if path != "/predict":
            return works(path, body)
        if any(task["id"] == first for task in body["tasks"]):
            return 500, b"no such word"
        return 200, {
            "results": [{"result": [{**SPORT, "value": {"choices": ["chess"]}}]} for _ in body["tasks"]]
        }

    backend.answer = answer
    run = run_all(manager, backend.url)
    counts = {reason.message: reason.number for reason in list_failure_reasons(run)}
    assert len(counts) == 2
    assert counts["the ML backend: it answered 500: no such word"] == 1
    assert any("'chess' is not a label of “Topic”" in message for message in counts)


@pytest.mark.parametrize(
    ("reply", "sentence"),
    [
        ((200, {"results": []}), "it gave 0 predictions for 1 tasks"),
        ((200, b"<html>"), "did not answer with JSON"),
        ((200, {"results": [{"result": "x"}]}), "results"),
        ((404, b"gone"), "it answered 404: gone"),
        ((302, b""), "it answered 302"),
        ((200, {"results": [{"result": [{"type": "labels", "value": {"start": 0}}]}]}), "end: .*missing"),
        (
            (200, {"results": [{"result": [{**ADA, "value": {**ADA["value"], "end": 999}}]}]}),
            "at these offsets",
        ),
    ],
)
def test_an_answer_that_is_none_is_a_failure_of_its_item(
    backend: Backend, manager: Membership, reply: Any, sentence: str
) -> None:
    backend.answer = lambda path, body: reply if path == "/predict" else works(path, body)
    project = set_backend(project=manager.project, url=backend.url, by=manager.user)
    run = start_backend_run(project=project, by=manager.user)
    [(_item, outcome)] = predict_items(run, list(project.items.all()[:1]))
    assert isinstance(outcome, ItemError)
    assert re.search(sentence, outcome.message), outcome.message


def test_a_bare_list_of_predictions_is_taken(backend: Backend, manager: Membership) -> None:
    backend.answer = lambda path, body: (
        (200, works(path, body)[1]["results"]) if path == "/predict" else works(path, body)
    )
    run_all(manager, backend.url)
    assert SystemOutput.objects.count() == 3


def test_a_backend_that_is_away_is_tried_again(backend: Backend, manager: Membership) -> None:
    project = set_backend(project=manager.project, url=backend.url, by=manager.user)
    backend.answer = lambda _path, _body: (503, b"")
    with pytest.raises(Unavailable, match="answered 503"):
        start_backend_run(project=project, by=manager.user)
    backend.answer = lambda _path, _body: (401, b"who are you")
    with pytest.raises(RunFailed, match="refuses the project: it answered 401: who are you"):
        start_backend_run(project=project, by=manager.user)
    closed = set_backend(project=project, url="http://127.0.0.1:1", by=manager.user)
    with pytest.raises(Unavailable, match="does not answer"):
        start_backend_run(project=closed, by=manager.user)


@pytest.mark.parametrize(
    "url",
    ["http://127.0.0.1:9090", "http://169.254.169.254/", "http://1.1.1.1:99999/", "ftp://example.org", "x"],
)
def test_an_address_that_is_not_public_is_refused(settings: Any, manager: Membership, url: str) -> None:
    settings.WEBHOOK_ALLOW_PRIVATE = False
    with pytest.raises(ValidationError):
        set_backend(project=manager.project, url=url, by=manager.user)
    # One that was stored while such addresses were allowed is not asked either.
    Project.objects.update(ml_backend=url)
    with pytest.raises(RunFailed):
        start_backend_run(project=Project.objects.get(), by=manager.user)


def test_an_address_with_a_password_is_refused(backend: Backend, manager: Membership) -> None:
    with pytest.raises(ValidationError, match="must not contain"):
        set_backend(project=manager.project, url=backend.url.replace("//", "//me:secret@"), by=manager.user)


def test_programs_and_projects_without_a_backend_have_none_to_ask(manager: Membership) -> None:
    with pytest.raises(Conflict, match="Enter its address first"):
        start_backend_run(project=manager.project, by=manager.user)
    with pytest.raises(Conflict, match="needs labels"):
        start_backend_run(project=make_project(), by=manager.user)


def test_images_go_along(backend: Backend, manager: Membership, monkeypatch: pytest.MonkeyPatch) -> None:
    task = read_label_task("layers: [{type: boxes, name: Objects, labels: [Dog]}]")
    project = create_project(
        slug="dogs", title="Dogs", kind="boxes", workspace=workspaces.main(), by=None, labels=task
    )
    fields = {"external_id": "d", "kind": "boxes", "program": task.text, "text": ""}
    record = ItemRecord.model_validate(fields | {"images": (Image(name="dog.png", width=20, height=10),)})
    import_items(records=[record], project=project)
    project.image_files.update(path="ab/abc.png")
    monkeypatch.setattr("annotation.actions.backend_runs.read_image", lambda _path: b"png")
    box = {"x": 10, "y": 20, "width": 30, "height": 40, "rotation": 0, "rectanglelabels": ["Dog"]}
    result = {"type": "rectanglelabels", "from_name": "box", "to_name": "image", "value": box}
    backend.answer = lambda path, body: (
        (200, {"results": [{"result": [result]}]}) if path == "/predict" else works(path, body)
    )
    run_all(make_member(project, Role.MANAGER), backend.url)
    assert backend.asked[-1][1]["tasks"][0]["data"]["image"] == "data:image/png;base64,cG5n"
    [mark] = SystemOutput.objects.get().marks["1"]
    assert mark["box"] == pytest.approx([0.1, 0.2, 0.4, 0.6])


def test_over_rest_and_on_the_page(
    backend: Backend, manager: Membership, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs: list[OutputRun] = []
    for name in ("annotation.rest.outputs", "annotation.views.outputs"):
        monkeypatch.setattr(f"{name}.enqueue_missing", runs.append)
    monkeypatch.setattr("jobs.model_servers.served_systems.read_server_states", list)
    address, client = (
        f"/api/v1/projects/{manager.project.slug}/ml-backend/",
        Client(headers=bearer(manager.user)),
    )
    assert client.put(address, {"url": "http://"}, "application/json").status_code == 422
    assert client.put(address, {"url": backend.url}, "application/json").json() == {"url": backend.url}
    assert client.get(address).json() == {"url": backend.url}
    started = client.post(f"{address}ask/", {}, "application/json")
    assert (started.status_code, started.json()["system"]) == (201, "Tagger")
    stranger = Client(headers=bearer(make_member(manager.project).user))
    assert stranger.get(address).status_code == 403
    assert stranger.post(f"{address}ask/", {}, "application/json").status_code == 403

    page = Client()
    page.force_login(manager.user)
    pages = f"/annotate/{manager.project.slug}"
    assert backend.url in page.get(f"{pages}/outputs/").content.decode()
    shown = page.post(f"{pages}/runs/start/", {"kind": "backend"}, follow=True)
    assert "Started Tagger." in shown.content.decode()
    refused = page.post(f"{pages}/ml-backend/", {"ml_backend": "file:///etc"}, follow=True)
    assert "is not an http or https address" in refused.content.decode()
    page.post(f"{pages}/ml-backend/", {"ml_backend": ""})
    assert Project.objects.get().ml_backend == ""
    assert (
        "Enter its address first"
        in page.post(f"{pages}/runs/start/", {"kind": "backend"}, follow=True).content.decode()
    )
