"""A running site reports metrics, and one ID joins all its logs.

The metrics are those of all its processes.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from ipaddress import ip_network

import httpx
import pytest
from django.test import RequestFactory
from prometheus_client.parser import text_string_to_metric_families

from config.observability.metrics import may_read
from scripts.sites.site import Site, run_site
from tests.functional.pages import ADD_OWNER
from tests.studyapp.questions import entries, write_json
from tests.waiting import eventually

TOKEN = "of-the-scraper"
ADD_TOKEN = (
    ADD_OWNER.format(name="ada", password="only for this test")
    + """
from accounts.actions.tokens import create_token
from accounts.models import Scope
print(create_token(name="test", scope=Scope.MANAGE, days=1, by=user).key)
"""
)


@pytest.fixture(scope="module")
def observed() -> Iterator[Site]:
    extra = {"METRICS_TOKEN": TOKEN, "LOG_FORMAT": "json", "LOG_REQUESTS": "true"}
    with run_site(extra=extra, as_deployed=True) as site:
        yield site


@pytest.fixture(scope="module")
def api(observed: Site) -> Iterator[httpx.Client]:
    key = observed.manage("shell", "--no-imports", "--command", ADD_TOKEN).split()[-1]
    headers = {"Authorization": f"Bearer {key}"}
    with httpx.Client(base_url=observed.url, headers=headers, trust_env=False) as client:
        yield client


def metrics(site: Site) -> dict[tuple[str, ...], float]:
    """Return every sample by its name and the values of its labels.

    The values are in the order of the labels' names.
    """
    answer = httpx.get(f"{site.url}/metrics", headers={"Authorization": f"Bearer {TOKEN}"}, trust_env=False)
    assert answer.status_code == 200, answer.text
    samples = [sample for family in text_string_to_metric_families(answer.text) for sample in family.samples]
    return {
        (sample.name, *(sample.labels[name] for name in sorted(sample.labels))): sample.value
        for sample in samples
    }


def log_lines(site: Site, part: str) -> list[dict]:
    text = (site.var / "log" / f"{part}.log").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines() if line.startswith("{")]


def test_requests_of_all_processes_are_counted_by_route(observed: Site, api: httpx.Client):
    key = ("touchstone_requests_total", "GET", "jobs_rest:jobs", "200")
    before = metrics(observed).get(key, 0)
    for _ in range(30):
        # Without keep-alive, so that both processes serve some.
        assert api.get("/api/v1/jobs/", headers={"Connection": "close"}).status_code == 200
    values = metrics(observed)
    assert values[key] == before + 30
    assert values["touchstone_request_seconds_count", "jobs_rest:jobs"] == before + 30
    numbers = {path.name for path in (observed.var / "metrics").glob("counter_*.db")}
    assert len(numbers) >= 2
    assert not any("/" in label for name, *labels in values for label in labels if "bucket" not in name)


def test_the_state_of_the_site_is_read_from_database_and_broker(observed: Site, api: httpx.Client):
    values = metrics(observed)
    for part in ("database", "migrations", "storage", "broker", "model_servers"):
        assert values["touchstone_part_works", part] == 1
    assert {queue for name, *labels in values if name == "touchstone_queue_messages" for queue in labels} == {
        "celery", "upkeep"
    }  # fmt: skip
    assert values["touchstone_participants", "live", "active"] == 0
    assert values["touchstone_jobs", "pending"] == values["touchstone_runs", "outputs", "running"] == 0
    assert values["touchstone_errors_total", "web"] == values["touchstone_errors_total", "worker"] == 0


@pytest.mark.parametrize("header", [{}, {"Authorization": "Bearer other"}, {"Authorization": "Bearer ü"}])
def test_nobody_reads_them_without_the_token(observed: Site, header: dict[str, str]):
    raw = {name: value.encode() for name, value in header.items()}
    answer = httpx.get(f"{observed.url}/metrics", headers=raw, trust_env=False)
    assert (answer.status_code, answer.text, answer.headers["WWW-Authenticate"]) == (401, "", "Bearer")


def test_one_id_is_in_the_logs_of_web_server_worker_and_model_server(observed: Site, api: httpx.Client):
    write_json(observed.var / "toy.json", entries(3))
    observed.manage("import_dataset", "hotpot", str(observed.var / "toy.json"), "--name", "toy")
    (dataset,) = api.get("/api/v1/datasets/").json()["results"]
    body = {"dataset": dataset["id"], "system": "fake", "kind": "predict"}
    answer = api.post("/api/v1/runs/", json=body, headers={"X-Request-ID": "page-7"})
    assert answer.status_code == 201, answer.text
    run = answer.json()["id"]
    eventually(lambda: api.get(f"/api/v1/runs/{run}/").json()["status"] == "done")
    (web,) = [line for line in log_lines(observed, "web-server") if line["request_id"] == "page-7"]
    assert (web["method"], web["route"], web["status"]) == ("POST", "predictions_rest:runs", 201)

    def of_page(part: str) -> list[dict]:
        return [
            line for line in log_lines(observed, part) if line.get("request_id", "").startswith("page-7.")
        ]

    eventually(lambda: bool(of_page("worker")))
    requests = of_page("model-server")
    assert [line["event"] for line in requests if line["path"] == "/v1/predict"]
    assert {line["request_id"] for line in requests} == {line["request_id"] for line in of_page("worker")}


def test_nothing_is_there_by_default(client):
    assert client.get("/metrics").status_code == 404


@pytest.mark.parametrize(
    "address, headers, allowed",
    [
        ("10.1.2.3", {}, True),
        ("10.2.2.3", {}, False),
        ("", {}, False),  # a unix socket
        ("10.1.2.3", {"X-Forwarded-For": "10.1.2.3"}, False),  # a proxy passed a stranger on
        ("10.1.2.3", {"Via": "1.1 proxy"}, False),
        ("10.9.9.9", {"Authorization": "Bearer of-the-scraper"}, True),
        ("10.9.9.9", {"Authorization": "of-the-scraper"}, False),
    ],
)
def test_networks_read_without_a_proxy(settings, address, headers, allowed):
    settings.METRICS_NETWORKS, settings.METRICS_TOKEN = [ip_network("10.1.0.0/16")], TOKEN
    request = RequestFactory().get("/metrics", headers=headers, REMOTE_ADDR=address)
    assert may_read(request) is allowed


def test_an_empty_token_is_no_token(settings):
    request = RequestFactory().get("/metrics", headers={"Authorization": "Bearer "})
    assert not may_read(request)
