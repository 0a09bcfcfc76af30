"""Supervisors read the state of each part under any host name.

They learn no more than that.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from threading import Event
from types import SimpleNamespace

import pytest
from django.db import OperationalError, connection
from django.test import Client
from redis.exceptions import ConnectionError as NoRedis

from jobs.model_servers.served_systems import ServerState

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "config.observability.health.read_server_states", lambda: [ServerState("h:1", (), answers=True)]
    )
    monkeypatch.setattr("config.observability.health.cache", SimpleNamespace(get=lambda _name: None))


@pytest.mark.parametrize("host", ["testserver", "10.0.0.7:8000", "no-such-host.example", "under_score"])
@pytest.mark.parametrize("address", ["/health/live", "/health/ready", "/health/live/", "/health/ready/"])
def test_they_answer_under_any_host_without_a_redirect(client: Client, settings, host, address):
    settings.ALLOWED_HOSTS, settings.SECURE_SSL_REDIRECT = ["study.example.org"], True
    response = client.get(address, headers={"host": host})
    assert (response.status_code, response.json()["status"]) == (200, "ok")
    assert response.headers["Cache-Control"] == "no-store"
    assert not response.cookies
    assert client.head(address, headers={"host": host}).status_code == 200
    assert client.post(address, headers={"host": host}).status_code == 405


def raising(error: Exception) -> Callable[..., None]:
    def fail(*_arguments: object) -> None:
        raise error

    return fail


def failing(monkeypatch: pytest.MonkeyPatch, part: str, settings, tmp_path) -> None:
    if part == "database":
        monkeypatch.setattr(connection, "cursor", raising(OperationalError("gone")))
    elif part == "migrations":
        monkeypatch.setattr(
            "config.observability.health.MigrationExecutor.migration_plan", lambda *_: ["0007"]
        )
    elif part == "storage":
        settings.VAR_DIR = tmp_path / "missing"
    elif part == "broker":
        monkeypatch.setattr("config.observability.health.cache", SimpleNamespace(get=raising(NoRedis())))
    else:
        states = [ServerState("h:1", (), answers=True), ServerState("h:2", (), answers=False)]
        monkeypatch.setattr("config.observability.health.read_server_states", lambda: states)


@pytest.mark.parametrize(
    ("part", "code", "status"),
    [
        ("database", 503, "failed"),
        ("migrations", 503, "failed"),
        ("storage", 503, "failed"),
        ("broker", 200, "degraded"),
        ("model_servers", 200, "degraded"),
    ],
)
def test_each_part_is_looked_at(client: Client, monkeypatch, settings, tmp_path, caplog, part, code, status):
    failing(monkeypatch, part, settings, tmp_path)
    monkeypatch.setattr("config.observability.health._logged", [])
    response = client.get("/health/ready")
    client.get("/health/ready")
    assert (response.status_code, response.json()["status"]) == (code, status)
    assert response.json()["checks"][part] == "failed"
    assert ("Retry-After" in response.headers) == (code == 503)
    logged = [
        record.getMessage() for record in caplog.records if record.name == "config.observability.health"
    ]
    assert len(logged) == (code == 503)
    assert all(part in line for line in logged)
    assert "h:2" not in response.content.decode()
    assert client.get("/health/live").status_code == 200


def test_a_storage_that_hangs_does_not_hold_up_the_answer(client: Client, monkeypatch):
    release = Event()
    hanging = SimpleNamespace(is_available=lambda: release.wait(30))
    monkeypatch.setattr("config.observability.health.storages", {"images": hanging})
    monkeypatch.setattr("config.observability.health.STORAGE_SECONDS", 0.1)
    begun = time.monotonic()
    try:
        assert client.get("/health/ready").json()["checks"]["storage"] == "failed"
        assert time.monotonic() - begun < 20
    finally:
        release.set()
