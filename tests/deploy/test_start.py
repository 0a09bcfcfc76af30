"""The very commands of the units, started with production settings.

They are started by hand, behind a proxy that ends TLS.
"""

from __future__ import annotations

import os
import re
import shlex
import ssl
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

from scripts.sites import servers
from scripts.sites.processes import Part, Supervisor, free_port, is_url_answering, run
from tests.deploy.test_files import UNITS
from tests.deploy.web_proxy import caddy_proxy
from tests.paths import ROOT
from tests.waiting import eventually

pytestmark = pytest.mark.service

HOST = "study.example.org"
TOKEN = "a-token-of-this-test"
BY_PROXY = {"Host": HOST, "X-Forwarded-Proto": "https", "X-Forwarded-For": "203.0.113.7"}


@dataclass(frozen=True)
class Deployed:
    url: str
    folder: Path

    @property
    def port(self) -> int:
        return int(self.url.rpartition(":")[2])


def command_of(unit: str, instance: str = "", **ports: int) -> list[str]:
    """Return the command of a unit as systemd would run it, on free ports."""
    text = (UNITS / unit).read_text(encoding="utf-8")
    line = re.search(r"^ExecStart=(.+)$", text, re.MULTILINE)
    assert line
    words = shlex.split(line[1].replace("%i", instance).replace("%%", "%"))
    for old, new in ports.items():
        words[words.index(old.removeprefix("_"))] = str(new)
    return [sys.executable, *words[1:]]


@pytest.fixture(scope="module")
def deployed(tmp_path_factory: pytest.TempPathFactory, postgres_server: str) -> Iterator[Deployed]:
    folder = tmp_path_factory.mktemp("deployed")
    port, model_port = free_port(), free_port()
    example = (ROOT / "deploy/site.env.example").read_text(encoding="utf-8")
    with ExitStack() as stack:
        database = stack.enter_context(servers.copy_postgres_database(postgres_server))
        broker = stack.enter_context(servers.run_valkey())
        parts = stack.enter_context(Supervisor())
        settings = {
            "SECRET_KEY": "x" * 64, "DATABASE_URL": database, "REDIS_URL": broker,
            "VAR_DIR": str(folder),
            "MODEL_SERVER_URL": f"http://127.0.0.1:{model_port}", "MODEL_SERVER_TOKEN": TOKEN,
            "MODELSERVER_TOKEN": TOKEN, "METRICS_TOKEN": TOKEN, "MODELSERVER_SYSTEMS": "heuristic",
            "MODELSERVER_PROCESSES": "1",
        }  # fmt: skip
        clean = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
        env = {**clean, **dict(re.findall(r"^([A-Z_]+)=(.*)$", example, re.MULTILINE)), **settings}
        assert run(command_of("touchstone-prepare.service"), env) == 0

        def start(name: str, command: list[str], url: str = "") -> None:
            ready = (lambda: is_url_answering(url)) if url else (lambda: True)
            parts.start(Part(name=name, command=command, log=folder / f"{name}.log", env=env, ready=ready))

        url, model_url = f"http://127.0.0.1:{port}", f"http://127.0.0.1:{model_port}"
        start("web", command_of("touchstone-web@.service", "1", _8001=port), f"{url}/health/live")
        start("model", command_of("touchstone-modelserver.service", _8100=model_port), f"{model_url}/ready")
        start("worker", command_of("touchstone-worker@.service", "1"))
        start("beat", command_of("touchstone-beat.service"))
        parts.wait_ready()
        yield Deployed(url, folder)


def get(site: Deployed, path: str, **headers: str) -> httpx.Response:
    return httpx.get(site.url + path, headers=BY_PROXY | headers, trust_env=False)


def test_all_parts_are_ready(deployed: Deployed) -> None:
    def checks() -> dict[str, object]:
        content: dict[str, object] = get(deployed, "/health/ready").json()
        return content

    eventually(lambda: checks()["status"] == "ok")


def test_pages_come_over_tls_alone(deployed: Deployed) -> None:
    page = get(deployed, "/accounts/login/")
    assert page.status_code == 200
    assert "max-age" in page.headers["Strict-Transport-Security"]
    (style,) = set(re.findall(r'href="(/static/[^"]+\.css)"', page.text)[:1])
    assert get(deployed, style).status_code == 200
    plain = get(deployed, "/accounts/login/", **{"X-Forwarded-Proto": "http"})
    assert (plain.status_code, plain.headers["Location"]) == (301, f"https://{HOST}/accounts/login/")
    assert get(deployed, "/accounts/login/", Host="elsewhere.example").status_code == 400


def test_caddy_serves_the_site_over_tls(deployed: Deployed) -> None:
    """Caddy serves by its own file, with one of two web servers away.

    The site does not believe a scheme that a stranger claims.
    """
    folder, port = deployed.folder / "caddy", free_port()
    with Supervisor() as parts:
        parts.start(caddy_proxy(folder, port, HOST, [free_port(), deployed.port]))
        parts.wait_ready()
        tls = ssl.create_default_context(cafile=folder / "caddy/pki/authorities/local/root.crt")
        strange = {"Host": f"{HOST}:{port}", "X-Forwarded-Proto": "http"}
        with httpx.Client(verify=tls, headers=strange, trust_env=False, timeout=30) as client:

            def page(path: str) -> httpx.Response:
                return client.get(f"https://127.0.0.1:{port}{path}", extensions={"sni_hostname": HOST})

            for _ in range(4):
                response = page("/accounts/login/")
                assert response.status_code == 200
                assert "Caddy" in response.headers["Server"]
            assert page("/health/ready").json()["status"] == "ok"
            token = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', page("/accounts/login/").text)
            assert token
            eventually(lambda: "connection refused" in (folder / "log").read_text(encoding="utf-8"))
            for _ in range(4):
                refused = client.post(
                    f"https://127.0.0.1:{port}/accounts/login/",
                    data={"username": "nobody", "password": "wrong", "csrfmiddlewaretoken": token[1]},
                    headers={"Referer": f"https://{HOST}:{port}/"}, extensions={"sni_hostname": HOST},
                )  # fmt: skip
                assert (refused.status_code, "You are not logged in" in refused.text) == (200, True)


def test_metrics_ask_for_their_token(deployed: Deployed) -> None:
    assert get(deployed, "/metrics").status_code in (401, 403, 404)
    text = get(deployed, "/metrics", Authorization=f"Bearer {TOKEN}").text
    for part in ("database", "migrations", "storage", "broker", "model_servers"):
        assert f'touchstone_part_works{{part="{part}"}} 1.0' in text


def test_beat_sends_what_a_worker_does(deployed: Deployed) -> None:
    """The sweep of jobs comes every 15 seconds; this waits for the first."""
    eventually(lambda: "succeeded" in (deployed.folder / "worker.log").read_text(encoding="utf-8"))
