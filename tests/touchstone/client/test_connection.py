"""Requests of the client: their content, retries and errors."""

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.paths import ROOT
from touchstone import client as api
from touchstone.client import Client
from touchstone.client.connection import Connection, build_address
from touchstone.client.rows import JobRow
from touchstone.client.studies import read_definition

Answer = Callable[[httpx.Request], httpx.Response]


class Answers:
    """A site that gives one answer after the other, and keeps the requests."""

    def __init__(self, *answers: httpx.Response | Exception) -> None:
        self.answers, self.requests, self.waits = list(answers), list[httpx.Request](), list[float]()
        transport = httpx.MockTransport(self._next)
        self.connection = Connection(
            "https://site.test/", "tst_1", transport=transport, sleep=self.waits.append
        )
        self.client = Client("https://site.test/", "tst_1", transport=transport)

    def _next(self, request: httpx.Request) -> httpx.Response:
        request.read()
        self.requests.append(request)
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer


def problem(status: int, headers: dict[str, str] | None = None, **more: Any) -> httpx.Response:
    body = {"title": "A title", "status": status, "detail": "A sentence.", **more}
    headers = {"Content-Type": "application/problem+json", **(headers or {})}
    return httpx.Response(status, content=json.dumps(body), headers=headers)


def row(**fields: Any) -> httpx.Response:
    return httpx.Response(200, json=fields)


def test_it_works() -> None:
    site = Answers(row(id="3", name="hotpot"))
    assert site.client.datasets.get("3")["name"] == "hotpot"
    [request] = site.requests
    assert str(request.url) == "https://site.test/api/v1/datasets/3/"
    assert request.headers["Authorization"] == "Bearer tst_1"


def test_parts_of_an_address_are_quoted() -> None:
    assert (
        build_address("workspaces", "a/b c", "members", "ü?")
        == "/api/v1/workspaces/a%2Fb%20c/members/%C3%BC%3F/"
    )


def test_lists_follow_next_on_the_site_that_they_began_on() -> None:
    second = "http://elsewhere.test/api/v1/datasets/?name=x&cursor=Mg"
    site = Answers(
        row(next=second, results=[{"id": "1"}, {"id": "2"}]), row(next=None, results=[{"id": "3"}])
    )
    assert [dataset["id"] for dataset in site.client.datasets.list(name="x")] == ["1", "2", "3"]
    assert [str(request.url) for request in site.requests] == [
        "https://site.test/api/v1/datasets/?name=x",
        "https://site.test/api/v1/datasets/?name=x&cursor=Mg",
    ]


def test_parameters_that_are_not_given_are_not_sent() -> None:
    site = Answers(row(next=None, results=[]))
    list(site.client.studies.list(archived=False))
    assert str(site.requests[0].url).endswith("/studies/?archived=false")


def test_rows_are_streamed_as_lines() -> None:
    site = Answers(httpx.Response(200, content='{"a": 1}\n{"a": "ü"}\n'))
    assert list(site.client.studies.rows("s", "post-survey")) == [{"a": 1}, {"a": "ü"}]
    assert site.requests[0].headers["Accept"] == "application/x-ndjson"


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, api.Invalid), (401, api.NotAuthenticated), (403, api.NotAllowed), (404, api.NotFound),
        (409, api.Conflict), (412, api.Conflict), (422, api.Invalid), (429, api.RateLimited),
        (503, api.Unavailable), (418, api.ApiError),
    ],
)  # fmt: skip
def test_errors_have_a_kind_by_their_status(status: int, kind: type[api.ApiError]) -> None:
    site = Answers(problem(status, errors=[{"field": "limit", "detail": "is wrong"}]))
    with pytest.raises(api.ApiError) as raised:
        site.client.jobs.get("1")
    assert type(raised.value) is kind
    assert (raised.value.status, raised.value.title, raised.value.detail) == (
        status,
        "A title",
        "A sentence.",
    )
    assert raised.value.errors == (api.FieldProblem("limit", "is wrong"),)


def test_an_error_brings_what_a_program_needs_to_go_on() -> None:
    site = Answers(problem(409, document={"layers": {}}, revision=3))
    with pytest.raises(api.Conflict) as raised:
        site.client.annotations.save("7", [{"node": 3}], revision=1)
    assert raised.value.members == {"document": {"layers": {}}, "revision": 3}
    [request] = site.requests
    [edit] = json.loads(request.content)["operations"]
    assert (edit["base"], edit["node"]) == (1, 3)


def test_errors_of_a_proxy_are_errors_too() -> None:
    site = Answers(httpx.Response(502, html="<h1>Bad gateway</h1>"))
    with pytest.raises(api.ApiError, match="502 Bad Gateway"):
        site.client.jobs.get("1")


def test_an_address_of_something_else() -> None:
    site = Answers(httpx.Response(200, html="<h1>Welcome</h1>"))
    with pytest.raises(api.Unreachable, match="text/html"):
        site.client.jobs.get("1")


def test_errors_of_the_network_are_ours() -> None:
    with pytest.raises(api.Unreachable, match="no route"):
        Answers(httpx.ConnectError("no route")).client.jobs.get("1")


@pytest.mark.parametrize("status", [429, 503])
def test_reads_are_tried_again_when_the_site_says_when(status: int) -> None:
    site = Answers(problem(status, {"Retry-After": "7"}), problem(status, {"Retry-After": "3"}), row(id="1"))
    assert site.connection.get("/api/v1/jobs/1/") == {"id": "1"}
    assert site.waits == [7, 3]


def test_it_gives_up_after_some_tries() -> None:
    site = Answers(*[problem(429, {"Retry-After": "1"}) for _ in range(9)])
    with pytest.raises(api.RateLimited) as raised:
        site.connection.get("/api/v1/jobs/1/")
    assert raised.value.retry_after == 1
    assert len(site.requests) == 4


@pytest.mark.parametrize(
    ("status", "headers"),
    [(503, {}), (500, {"Retry-After": "1"}), (409, {"Retry-After": "1"}), (429, {"Retry-After": "3600"})],
)
def test_others_are_not_tried_again(status: int, headers: dict[str, str]) -> None:
    site = Answers(problem(status, headers))
    with pytest.raises(api.ApiError):
        site.connection.get("/api/v1/jobs/1/")
    assert (len(site.requests), site.waits) == (1, [])


def test_a_post_that_creates_is_tried_again_with_its_key() -> None:
    site = Answers(problem(429, {"Retry-After": "1"}), row(id="1"))
    site.connection.send("POST", "/api/v1/runs/", {"dataset": "1"}, once=True)
    first, second = site.requests
    assert first.headers["Idempotency-Key"] == second.headers["Idempotency-Key"]
    assert first.content == second.content == b'{"dataset":"1"}'


def test_an_upload_is_sent_again_from_its_beginning(tmp_path: Path) -> None:
    site = Answers(problem(503, {"Retry-After": "0"}), row(id="1"))
    (tmp_path / "questions.json").write_bytes(b"[1, 2]")
    site.client.imports.dataset(tmp_path / "questions.json", workspace="main", name="a", format="hotpot")
    first, second = site.requests
    assert first.headers["Idempotency-Key"] == second.headers["Idempotency-Key"]
    assert first.content == second.content == b"[1, 2]"


def test_a_post_without_a_key_is_not_tried_again() -> None:
    site = Answers(problem(429, {"Retry-After": "1"}))
    with pytest.raises(api.RateLimited):
        site.connection.send("POST", "/api/v1/studies/a/launch/")
    assert len(site.requests) == 1


def test_each_creation_has_a_key_of_its_own() -> None:
    site = Answers(row(id="1"), row(id="2"), row(id="3"))
    site.client.runs.start(dataset="1", system="s")
    site.client.runs.start(dataset="1", system="s")
    site.client.workspaces.create("a", name="A")
    assert len({request.headers["Idempotency-Key"] for request in site.requests}) == 3


def test_a_draft_is_replaced_on_the_state_that_was_read() -> None:
    state = {"revision": 3, "definition": {"study": "a"}, "problems": [], "checks": []}
    site = Answers(
        httpx.Response(200, json=state, headers={"ETag": '"draft-3"'}),
        httpx.Response(200, json={**state, "revision": 4}, headers={"ETag": '"draft-4"'}),
    )
    draft = site.client.studies.draft("a")
    changed = site.client.studies.replace_draft("a", "study: a\ntitle: New", etag=draft.etag)
    assert (changed.revision, changed.etag) == (4, '"draft-4"')
    assert site.requests[1].headers["If-Match"] == '"draft-3"'
    assert json.loads(site.requests[1].content) == {"definition": {"study": "a", "title": "New"}}


def test_waiting_reports_progress_until_the_job_is_done() -> None:
    site = Answers(
        *[row(id="1", status=status, done=n) for n, status in enumerate(("pending", "running", "done"))]
    )
    jobs: list[JobRow] = []
    assert site.client.jobs.wait("1", progress=jobs.append, every=0)["status"] == "done"
    assert [job["done"] for job in jobs] == [0, 1, 2]


@pytest.mark.parametrize("status", ["failed", "cancelled"])
def test_waiting_for_a_job_that_fails(status: str) -> None:
    site = Answers(row(id="1", kind="report", status=status, error="no rows"))
    with pytest.raises(api.JobFailed, match=f"job 1 \\(report\\) {status}: no rows") as failed:
        site.client.jobs.wait("1")
    assert failed.value.job["error"] == "no rows"


def test_waiting_ends_at_its_limit() -> None:
    site = Answers(row(id="1", status="running"))
    with pytest.raises(api.WaitTimeout, match="running after 0 seconds"):
        site.client.runs.wait("1", timeout=0)


def test_a_run_that_fails() -> None:
    site = Answers(row(id="1", system="s", status="failed", error="no server"))
    with pytest.raises(api.RunFailed, match="run 1 of s failed: no server"):
        site.client.runs.wait("1")


class Broken(httpx.SyncByteStream):
    """A response that ends early."""

    def __iter__(self) -> Iterator[bytes]:
        yield b"some"
        raise httpx.RemoteProtocolError("ended early")


def test_a_download_that_breaks_leaves_nothing(tmp_path: Path) -> None:
    site = Answers(httpx.Response(200, stream=Broken()), httpx.Response(200, content=b"all"))
    with pytest.raises(api.Unreachable):
        site.client.jobs.download("1", tmp_path / "file.zip")
    assert list(tmp_path.iterdir()) == []
    assert site.client.jobs.download("1", tmp_path / "file.zip").read_bytes() == b"all"
    assert [path.name for path in tmp_path.iterdir()] == ["file.zip"]


def test_an_upload_says_its_length_and_name(tmp_path: Path) -> None:
    (tmp_path / "dev.json").write_bytes(b"[]")
    site = Answers(row(id="1"))
    site.client.imports.dataset(tmp_path / "dev.json", workspace="main", name="n", format="squad")
    [request] = site.requests
    assert (request.headers["Content-Length"], request.content) == ("2", b"[]")
    assert request.url.params["file_name"] == "dev.json"
    assert request.url.params["dry_run"] == "false"


def test_definitions(tmp_path: Path) -> None:
    path = tmp_path / "study.yaml"
    path.write_text("study: a\n", encoding="utf-8")
    assert read_definition(path) == read_definition("study: a") == read_definition({"study": "a"})
    for wrong in ("study.yaml", "a: [", ""):
        with pytest.raises(ValueError, match="definition is not"):
            read_definition(wrong)


@pytest.mark.parametrize("missing", ["httpx", "yaml"])
def test_without_what_it_needs_the_import_says_how_to_get_it(missing: str) -> None:
    code = f"import sys; sys.modules[{missing!r}] = None\nimport touchstone.client"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.stderr.splitlines()[-1].endswith("Install them with: pip install httpx PyYAML")
