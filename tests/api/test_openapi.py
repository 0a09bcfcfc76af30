"""The OpenAPI document is true of every endpoint of the REST API.

Every endpoint is in it, and answers as it says.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import hypothesis
import pytest
import schemathesis
from django.core.management import call_command
from django.core.signals import request_finished, request_started
from django.core.wsgi import get_wsgi_application
from django.db import close_old_connections, transaction
from django.test import Client
from django.urls import URLPattern, get_resolver
from drf_spectacular.generators import SchemaGenerator
from hypothesis import HealthCheck, Phase, given
from pydantic import BaseModel
from schemathesis.specs.openapi import checks

from accounts.actions.invitations import create_invitation
from accounts.models import Role, User
from accounts.rest.bodies import FILE, JSON
from accounts.rest.views import PerUser
from jobs.actions.jobs import allocate_file, create_job
from jobs.model_servers.ml_backend import Backend
from jobs.models import Job
from modelserver.serving.fake_server import FakeModelServer
from predictions.models import Dataset, PredictionFailure, PredictionRun, Score
from studyapp.actions.studies import close_study, pause_study
from studyapp.actions.webhooks import add_webhook
from studyapp.models import Participant, Payment, Study
from tests import workspaces
from tests.annotation.actions.test_output_runs import server
from tests.api.projects import ANNOTATION, PROJECT, ProjectWorld, make_project_world
from tests.studyapp import factories
from tests.tokens import bearer

__all__ = ["server"]

PREFIX = "/api/v1/"
EXAMPLES = 4  # of each operation; every second one is made to reach something
STUDY = f"{PREFIX}studies/{{slug}}/"
WORKSPACE = f"{PREFIX}workspaces/{{slug}}/"


@pytest.fixture(scope="module")
def document() -> dict[str, Any]:
    generated: dict[str, Any] = SchemaGenerator().get_schema(request=None, public=True)
    return generated


def test_without_a_login_it_answers_with_problem_details(client: Client) -> None:
    response = client.get("/api/schema/")
    assert (response.status_code, response["Content-Type"]) == (401, "application/problem+json")
    assert response.json()["detail"]


def test_every_address_is_described(document: dict[str, Any]) -> None:
    described = {path for path in document["paths"] if path.startswith(PREFIX)}
    addresses = {_without_converters(route) for route in _routes(get_resolver().url_patterns)}
    in_api = {address for address in addresses if address.startswith(PREFIX)}
    assert len(in_api) > 30
    # The address of everything unknown answers 404 alone.
    assert in_api - described == {PREFIX}


def _routes(patterns: list[Any], before: str = "/") -> Iterator[str]:
    for pattern in patterns:
        route = before + str(pattern.pattern).removeprefix("^")
        if isinstance(pattern, URLPattern):
            yield route
        else:
            yield from _routes(pattern.url_patterns, route)


def _without_converters(route: str) -> str:
    parts = [part.partition(":")[2] or part if part.startswith("<") else part for part in _split(route)]
    names = ["{" + part.strip("<>") + "}" if part.endswith(">") else part for part in parts]
    return "".join(names).replace("{pk}", "{id}")


def _split(route: str) -> list[str]:
    return [part for piece in route.split("<") for part in _piece(piece)]


def _piece(piece: str) -> list[str]:
    name, end, rest = piece.partition(">")
    return [f"<{name}>", rest] if end else [piece]


def test_bodies_are_described(document: dict[str, Any]) -> None:
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            if path.startswith(PREFIX) and "415" in operation["responses"]:
                assert operation["requestBody"]["content"], (method, path)


def test_no_two_types_share_a_name(document: dict[str, Any]) -> None:
    # The document would have one of them alone, for both.
    named: dict[str, set[type]] = {}
    for shape in _subclasses(BaseModel):
        if ".rest." in shape.__module__ or shape.__module__.startswith("annotation."):
            named.setdefault(shape.__name__, set()).add(shape)
    shared = {
        name
        for name, shapes in named.items()
        if len(shapes) > 1 and any(".rest." in shape.__module__ for shape in shapes)
    }
    assert shared & document["components"]["schemas"].keys() == set()


def _subclasses(of: type) -> Iterator[type]:
    subclasses: list[type] = of.__subclasses__()
    for subclass in subclasses:
        yield subclass
        yield from _subclasses(subclass)


def test_the_command_that_writes_the_document_has_no_remarks(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    call_command("spectacular", validate=True, fail_on_warn=True, file=str(tmp_path / "api.yml"))
    assert capsys.readouterr().err == ""


@dataclass(frozen=True)
class World:
    """The IDs and names of one object of each kind, in one workspace.

    A superuser owns the workspace.
    """

    owner: User
    study: Study
    draft: Study
    run: PredictionRun
    unused: Dataset
    jobs: dict[str, Job]
    invitation: int
    payment: int
    webhook: int
    person: str
    project: ProjectWorld

    def parameters(self, operation: str, path: str) -> dict[str, Any]:
        """The path parameters that reach something."""
        if path.startswith((PROJECT, ANNOTATION)):
            return self.project.parameters(operation, path)
        ids = {
            "runs": self.run.pk,
            "datasets": self.unused.pk if operation.startswith("DELETE ") else self.run.dataset_id,
            "imports": self.jobs["preview"].pk,
            "jobs": self.jobs["pending" if "cancel" in path else "done"].pk,
            "workspaces": self.invitation,
            "studies": self.payment if "/payments/" in path else self.webhook,
        }
        kind = path.removeprefix(PREFIX).partition("/")[0]
        study = self.draft if path.endswith(("/draft/", "/launch/")) else self.study
        slug = study.slug if kind == "studies" else "main"
        table = "trials"
        values = {"id": ids.get(kind), "slug": slug, "user": "second", "role": "viewer", "table": table}
        values["person"] = self.person
        return {name: value for name, value in values.items() if "{" + name + "}" in path}

    def body(self, operation: str, path: str) -> Any:
        """Return the body that reaches something.

        It is None if the operation takes none, or any.
        """
        definition = {**self.draft.definition}
        bodies: dict[str, Any] = {
            f"POST {PREFIX}runs/": {"dataset": str(self.run.dataset_id), "system": "fake"},
            f"POST {PREFIX}account/delete/": {"password": self.owner.username},
            f"POST {PREFIX}imports/": b"[]",
            f"POST {PREFIX}workspaces/": {"slug": "third", "name": "Third"},
            f"PATCH {WORKSPACE}": {"name": "Another name"},
            f"POST {WORKSPACE}members/": {"user": "second", "role": "analyst"},
            f"POST {WORKSPACE}invitations/": {"role": "viewer"},
            f"POST {PREFIX}studies/": {"workspace": "main", "definition": {**definition, "study": "next"}},
            f"PUT {STUDY}draft/": {"definition": definition},
            f"POST {STUDY}launch/": {"accept": factories.ACCEPTED},
            f"POST {STUDY}links/": {"label": "class"},
            f"POST {STUDY}payments/": {"approve": True},
            f"POST {STUDY}payments/{{id}}/settle/": {"paid": True},
            f"POST {STUDY}rehearsals/": {"n": 2},
            f"POST {STUDY}webhooks/": {"url": "https://example.org/hook", "kinds": ["quota_reached"]},
            f"POST {PREFIX}runs/{{id}}/saliency/": {"method": "occlusion"},
            f"POST {STUDY}exports/": {"format": "jsonl"},
            f"POST {STUDY}participants/{{person}}/revoke/": {"reason": "lost phone"},
            f"POST {STUDY}participants/{{person}}/withdraw/": {"reason": "asked for it"},
            f"POST {STUDY}reports/": {"resamples": 10},
        }
        return bodies.get(operation, self.project.body(operation))

    def query(self, operation: str) -> dict[str, str] | None:
        """The query that reaches something."""
        if operation == f"POST {PREFIX}imports/":
            return {"kind": "dataset", "workspace": "main", "name": "new", "format": "hotpot"}
        if operation == f"DELETE {STUDY}participants/{{person}}/":
            return {"reason": "asked for it"}
        return self.project.query(operation) or ({} if operation.startswith("GET ") else None)

    def before(self, operation: str) -> None:
        """Bring the study into the state that the operation needs."""
        prepare: dict[str, Callable[..., Any]] = {
            f"POST {STUDY}resume/": pause_study,
            f"POST {STUDY}reopen/": close_study,
        }
        if operation == f"POST {PREFIX}account/delete/":  # the last owner cannot go
            workspaces.give(User.objects.create_superuser("heir"), Role.OWNER)
        if operation in prepare:
            prepare[operation](study=self.study, by=self.owner)
        self.project.before(operation)


@pytest.fixture
def world(settings: Any, tmp_path: Path) -> World:
    settings.JOB_FOLDER = tmp_path / "jobs"
    settings.VAR_DIR = tmp_path
    owner = workspaces.give(User.objects.create_superuser("owner"), Role.OWNER)
    second = workspaces.give(User.objects.create_user("second"), Role.VIEWER)
    study = factories.make_study(by=owner)
    participant = factories.make_participant(study=study, completed=True)
    run = factories.make_run(dataset=factories.make_dataset(), system="qi2019")
    PredictionFailure.objects.create(
        run=run, question=run.dataset.questions.first(), kind="too_long", message="The context is too long."
    )
    Score.objects.create(
        run=run, schema_version=1, n=6, values={"em": 0.5, "farm_1": None}, reasons={"farm_1": "no server"},
        computed_at=run.created_at,
    )  # fmt: skip
    invitation = create_invitation(workspace=workspaces.main(), role=Role.VIEWER, days=7, by=owner)
    return World(
        owner=owner,
        study=study,
        draft=factories.make_study(launched=False),
        run=run,
        unused=factories.make_dataset(),
        jobs={"pending": _job(owner), "done": _finished(_job(owner)), "preview": _preview(owner)},
        invitation=invitation.invitation.pk,
        webhook=_webhook(study, owner),
        payment=_payment(participant),
        person=participant.public_id,
        project=make_project_world(owner, second, tmp_path),
    )


def _webhook(study: Study, owner: User) -> int:
    """A webhook with one delivery."""
    hook = add_webhook(study=study, url="https://example.org/hook", kinds=[], by=owner)
    factories.make_participant(study=study, completed=True)
    assert hook.deliveries.exists()
    return hook.pk


def _payment(participant: Participant) -> int:
    """A payment that a person has to settle."""
    row = Payment.objects.create(
        study=participant.version.study, participant=participant, kind="bonus", amount=1, state="unknown",
        sent_at=participant.consented_at,
    )  # fmt: skip
    return row.pk


def _job(owner: User) -> Job:
    return create_job(kind="report", workspace=workspaces.main(), by=owner, subject="a-study")


def _preview(owner: User) -> Job:
    job = create_job(
        kind="import_dataset",
        workspace=workspaces.main(),
        by=owner,
        options={"name": "new", "format": "hotpot", "dry_run": True},
        upload=[b"[]"],
    )
    job.status, job.result, job.finished_at = Job.Status.DONE, {"refused_count": 0}, job.created_at
    job.save()
    return job


def _finished(job: Job) -> Job:
    path = allocate_file("report.zip")
    path.write_bytes(b"PK")
    job.status, job.result, job.finished_at = Job.Status.DONE, {"rows": 3}, job.created_at
    job.file, job.file_name = f"{path.parent.name}/{path.name}", path.name
    job.save()
    return job


def read_to_the_end(application: Any) -> Any:
    """The application as a server runs it, which closes each response."""

    def serve(environ: Any, start: Any) -> list[bytes]:
        response = application(environ, start)
        try:
            return [b"".join(response)]
        finally:
            response.close()

    return serve


@pytest.fixture
def kept_connection() -> Iterator[None]:
    """A connection that the application does not close.

    Its transaction is that of the test.
    """
    signals = (request_started, request_finished)
    for signal in signals:
        signal.disconnect(close_old_connections)
    yield
    for signal in signals:
        signal.connect(close_old_connections)


@pytest.mark.django_db
@pytest.mark.usefixtures("kept_connection")
def test_answers_are_what_the_document_says(
    document: dict[str, Any],
    world: World,
    server: FakeModelServer,
    settings: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    settings.ALLOWED_HOSTS = ["localhost"]
    monkeypatch.setattr(PerUser, "rate", None)
    schema = schemathesis.openapi.from_dict(document)
    schema.app = read_to_the_end(get_wsgi_application())
    backend = Backend("Tagger", "1")
    monkeypatch.setattr("annotation.actions.runs.prepare_backend", lambda _project: backend)
    headers, without_success = bearer(world.owner), []
    operations = [result.ok() for result in schema.get_all_operations()]
    for operation in operations:
        if not operation.path.startswith(PREFIX):
            continue
        # Nothing of an operation is left for the next one.
        with transaction.atomic():
            world.before(operation.label)
            if not any(200 <= status < 300 for status in _call(operation, world, headers)):
                without_success.append(operation.label)
            transaction.set_rollback(True)
    assert without_success == []
    assert sum(operation.path.startswith(PREFIX) for operation in operations) > 90


def _call(operation: Any, world: World, headers: dict[str, str]) -> set[int]:
    """Send generated requests; return the status codes.

    Every second request carries a body or a query that reaches something.
    """
    statuses: list[int] = []

    @hypothesis.settings(
        max_examples=EXAMPLES,
        deadline=None,
        database=None,
        derandomize=True,
        phases=[Phase.explicit, Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=operation.as_strategy())
    def call(case: Any) -> None:
        number = len(statuses)
        sent = dict(headers)
        if number % 4 != 3:  # an address at random is a 404 nearly always
            case.path_parameters = world.parameters(operation.label, operation.path)
        if number % 2 == 0:
            if (body := world.body(operation.label, operation.path)) is not None:
                case.body = body
                case.media_type = FILE if isinstance(body, bytes) else JSON
            if (query := world.query(operation.label)) is not None:
                case.query = query
            sent |= {"If-Match": "*", "Idempotency-Key": f"{operation.label} {number}"}
        response = case.call_and_validate(
            headers=sent,
            checks=[
                schemathesis.checks.not_a_server_error,
                checks.status_code_conformance,
                checks.content_type_conformance,
                checks.response_schema_conformance,
            ],
        )
        statuses.append(response.status_code)

    call()
    return set(statuses)
