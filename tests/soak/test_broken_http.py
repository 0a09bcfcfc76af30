"""Broken requests over real connections cause no error.

The site and the model server go on.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing

import httpx
import pytest

from modelserver.serving.fake_modular_system import FakeModularSystem
from modelserver.serving.fake_server import FakeModelServer, FakeSystem
from modelserver.wire.schema import QAItem
from tests.site import EmptySite, Site
from tests.soak import malformed, rng_of, size
from tests.soak.broken_http import request, statuses

PATHS = (
    "/", "/accounts/login/", "/api/v1/jobs/", "/join/nothing/", "/withdraw/", "/static/nothing.js", "/jobs/",
    "/theme/", "/language/", "/webhooks/prolific/",
)  # fmt: skip
MODEL_PATHS = ("/v1/predict", "/v1/explain", "/v1/execute", "/v1/load", "/v1/systems", "/health")


@pytest.fixture(scope="module")
def site(empty_site: EmptySite) -> Iterator[Site]:
    with empty_site(worker=False) as running:
        yield running


@pytest.fixture(scope="module")
def model_server() -> Iterator[FakeModelServer]:
    with FakeModelServer(FakeSystem(), FakeModularSystem()) as server:
        yield server


def rows(site: Site) -> dict[str, int]:
    """Return how many rows each table has.

    Tables of sessions and failed logins are left out.
    """
    with closing(sqlite3.connect(site.var / "touchstone.sqlite3")) as database:
        names = [name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        tables = [name for name in names if not name.startswith(("sqlite_", "django_session", "axes_"))]
        return {name: database.execute(f'SELECT count(*) FROM "{name}"').fetchone()[0] for name in tables}  # noqa: S608


def test_web_server(site: Site):
    before, wrong, answered = rows(site), [], 0
    for number in range(size(120, 0.04)):
        rng = rng_of("web", number)
        data = request(PATHS[number % len(PATHS)], site.stack.port, rng)
        codes = statuses(data, site.stack.port)
        answered += bool(codes)
        if any(status >= 500 for status in codes):
            wrong.append(f"{number}: {data[:400]!r}")
    assert not wrong, "\n".join(wrong[:20])
    assert answered > number / 4
    assert rows(site) == before
    assert httpx.get(f"{site.url}/accounts/login/", trust_env=False).status_code == 200
    assert "Internal Server Error" not in (site.var / "log" / "web-server.log").read_text(encoding="utf-8")


def test_model_server_over_broken_connections(model_server: FakeModelServer):
    port, wrong = int(model_server.url.rpartition(":")[2]), []
    for number in range(size(60, 0.01)):
        data = request(MODEL_PATHS[number % len(MODEL_PATHS)], port, rng_of("model framing", number))
        if any(status >= 500 for status in statuses(data, port)):
            wrong.append(f"{number}: {data[:400]!r}")
    assert not wrong, "\n".join(wrong[:20])


def test_model_server(model_server: FakeModelServer):
    item = {"id": "q", "question": "Who sang?", "context": [["T", ["Ann sang.", "Bo slept."]]]}
    module = {"id": "i", "text": "Two dogs.", "program": "find[dogs]", "images": [{"width": 4, "height": 4}]}
    bodies = {
        "/v1/predict": {"system": "fake", "items": [item, {**item, "id": "r"}]},
        "/v1/explain": {"system": "fake", "items": [item], "options": {"method": "occlusion"}},
        "/v1/execute": {"system": "fake-modular", "items": [module]},
        "/v1/load": {"system": "fake"},
    }
    paths, wrong = sorted(bodies), []
    with httpx.Client(base_url=model_server.url, trust_env=False, timeout=30) as client:
        for number in range(size(150, 0.03)):
            rng, path = rng_of("model", number), paths[number % len(paths)]
            media = "application/json" if rng.random() < 0.9 else rng.choice(malformed.MEDIA)
            content = malformed.json_bytes(bodies[path], rng)
            response = client.post(path, content=content, headers={"Content-Type": media or "a/b"})
            if response.status_code >= 500:
                wrong.append(
                    f"{number}, {path}: {response.status_code} {response.text[:200]} {content[:300]!r}"
                )
        assert not wrong, "\n".join(wrong[:20])
        assert client.get("/health").status_code == 200
    with model_server.client() as checked:
        assert checked.predict("fake", [QAItem.model_validate(item)]).predictions
