"""Serve Label Studio, doccano and Potato with a project like ours."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import httpx

from scripts.sites.processes import Part, Supervisor, free_port, is_url_answering

ITEMS = 3_000
PASSAGE = " ".join(f"In week {n} Ada kicked a {20 + n}-yard field goal ." for n in range(1, 13))
NAME, PASSWORD = "admin", "of-a-benchmark"
LABELS = (
    '<View><Labels name="label" toName="text"><Label value="goal"/></Labels>'
    '<Text name="text" value="$text"/></View>'
)
# Doccano imports files by Celery alone, and takes a sixth of a second for an example over its API.
EXAMPLES = f"""
import backend.cli, django  # names the settings and the database
django.setup()
from examples.models import Example
Example.objects.bulk_create(Example(project_id=1, text=f"{{n}} {PASSAGE}") for n in range({ITEMS}))
"""
POTATO = {
    "annotation_task_name": "Load", "task_dir": ".", "output_annotation_dir": "out",
    "data_files": ["items.jsonl"], "item_properties": {"id_key": "id", "text_key": "text"},
    "annotation_schemes": [
        {"annotation_type": "span", "name": "label", "description": "Goals", "labels": ["goal"]}
    ],
    "assignment_strategy": "fixed_order", "max_annotations_per_item": 1,
    "require_password": True, "user_config": {"allow_all_users": True, "users": []},
}  # fmt: skip


class Served(NamedTuple):
    """A running tool.

    Attributes:
        url: Its address.
        leader: Its process group.
        sessions: Tokens against forged requests by cookies of its annotators.
    """

    url: str
    leader: int
    sessions: dict[str, str]


class Visitor(httpx.Client):
    """A browser that sends the token against forged requests along."""

    def send_json(self, path: str, content: object) -> None:
        """Post JSON."""
        fields = {"X-CSRFToken": self.cookies.get("csrftoken") or "", "Referer": str(self.base_url)}
        self.post(path, json=content, headers=fields).raise_for_status()

    def session(self) -> tuple[str, str]:
        """Return the cookies and the token."""
        cookies = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        return cookies, self.cookies.get("csrftoken") or ""


@contextmanager
def serve_label_studio(programs: Path, folder: Path, people: int) -> Iterator[Served]:
    """Serve Label Studio from an empty folder to annotators who signed up."""
    own = {"LABEL_STUDIO_BASE_DATA_DIR": str(folder), "COLLECT_ANALYTICS": "0", "LATEST_VERSION_CHECK": "0"}
    env, program, port = os.environ | own, str(programs / "label-studio"), free_port()
    # On an empty database it first migrates for half a minute of processor time, which a busy machine
    # stretches past any deadline. Each of its commands does that; later runs reuse the result.
    migrated = programs.parent / "migrated.sqlite3"
    if not migrated.exists():
        subprocess.run([program, "version"], cwd=folder, env=env, check=True, capture_output=True)
        shutil.copyfile(folder / "label_studio.sqlite3", migrated)
    shutil.copyfile(migrated, folder / "label_studio.sqlite3")
    command = [program, "start", "--no-browser", "--port", str(port)]
    command += ["--username", f"{NAME}@example.org", "--password", PASSWORD]

    def sign_up(number: int, visitor: Visitor) -> None:
        page = visitor.get("/user/signup/").text
        token = re.search(r'csrfmiddlewaretoken" value="([^"]+)"', page)
        assert token
        form = {"email": f"p{number}@example.org", "password": PASSWORD, "csrfmiddlewaretoken": token[1]}
        visitor.post("/user/signup/", data=form, headers={"Referer": str(visitor.base_url)})
        if not number:
            project = {"title": "Load", "label_config": LABELS, "maximum_annotations": 1}
            visitor.send_json("/api/projects/", project)
            texts = [{"text": f"{n} {PASSAGE}"} for n in range(ITEMS)]
            visitor.send_json("/api/projects/1/import", texts)

    with _serve_tool("Label Studio", command, env, folder, port, "/user/login/", sign_up, people) as served:
        yield served


@contextmanager
def serve_doccano(programs: Path, folder: Path, people: int) -> Iterator[Served]:
    """Serve doccano from an empty folder to sessions of its administrator."""
    env = os.environ | {"DOCCANO_HOME": str(folder)}
    program, port = str(programs / "doccano"), free_port()
    create = [program, "createuser", "--username", NAME, "--password", PASSWORD]
    for command in ([program, "init"], create):
        subprocess.run(command, cwd=folder, env=env, check=True, capture_output=True)

    def log_in(number: int, visitor: Visitor) -> None:
        visitor.send_json("/v1/auth/login/", {"username": NAME, "password": PASSWORD})
        if not number:
            kind = {"project_type": "SequenceLabeling", "resourcetype": "SequenceLabelingProject"}
            about = {"name": "Load", "description": "Load", "collaborative_annotation": True}
            visitor.send_json("/v1/projects", kind | about)
            visitor.send_json("/v1/projects/1/span-types", {"text": "goal", "suffix_key": "g"})
            examples = [str(programs / "python"), "-c", EXAMPLES]
            subprocess.run(examples, cwd=folder, env=env, check=True, capture_output=True)

    command = [program, "webserver", "--port", str(port), "--workers", "2"]
    with _serve_tool("doccano", command, env, folder, port, "/", log_in, people) as served:
        yield served


@contextmanager
def serve_potato(programs: Path, folder: Path, people: int) -> Iterator[Served]:
    """Serve Potato from an empty folder to annotators who signed up."""
    lines = [json.dumps({"id": str(n), "text": f"{n} {PASSAGE}"}) for n in range(ITEMS)]
    (folder / "items.jsonl").write_text("\n".join(lines), encoding="utf-8")
    settings = POTATO | {"max_annotations_per_user": ITEMS // people}
    (folder / "config.yaml").write_text(json.dumps(settings), encoding="utf-8")
    port = free_port()

    def sign_up(number: int, visitor: Visitor) -> None:
        visitor.post("/register", data={"email": f"p{number}", "pass": PASSWORD})
        visitor.get("/annotate").raise_for_status()  # assigns the items

    command = [str(programs / "potato"), "start", "config.yaml", "--host", "127.0.0.1", "--port", str(port)]
    with _serve_tool("Potato", command, dict(os.environ), folder, port, "/", sign_up, people) as served:
        yield served


@contextmanager
def _serve_tool(
    name: str,
    command: list[str],
    env: dict[str, str],
    folder: Path,
    port: int,
    ready: str,
    enter: Callable[[int, Visitor], None],
    people: int,
) -> Iterator[Served]:
    url = f"http://127.0.0.1:{port}"
    part = Part(
        name=name, command=["env", "--chdir", str(folder), *command], log=folder / "log",
        env=env, ready=lambda: is_url_answering(url + ready), seconds=900.0,
    )  # fmt: skip
    with Supervisor() as parts:
        parts.start(part)
        parts.wait_ready()
        sessions = {}
        for number in range(people):
            with Visitor(base_url=url, trust_env=False, timeout=120) as visitor:
                enter(number, visitor)
                cookies, token = visitor.session()
                sessions[cookies] = token
        yield Served(url, parts.pids[name], sessions)
