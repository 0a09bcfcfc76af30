"""The tutorial of one's own system does what it says.

The tests take its blocks from the page and run them.
"""

import json
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Any

import httpx
import pytest
from django.core.management import call_command
from django.test import Client
from pytest_django.fixtures import Settings

from accounts.models import User
from benchmarks.models.predictions import run_server
from modelserver.serving.system_spec import ClassSpec, RemoteSpec, parse
from scripts.sites.processes import ROOT, free_port, is_port_taken
from tests.studyapp.questions import entries
from tests.studyapp.serving import eager, made_dataset
from tests.waiting import eventually

__all__ = ["eager"]

# All of them: tests with a database run first, and the server would be started twice.
pytestmark = pytest.mark.django_db

PAGE = (ROOT / "docs/tutorials/own-system.md").read_text(encoding="utf-8")
FILES = dict(re.findall(r"[Ss]ave this as `(\w+\.py)`.*?```python\n(.*?)```", PAGE, re.DOTALL))
SHELL = [block.strip() for block in re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL)]
COMMANDS = [line for block in SHELL for line in ([block] if "curl" in block else block.splitlines())]


def command(start: str) -> list[str]:
    """The words of the one command of the page that begins so."""
    (line,) = [line for line in COMMANDS if line.startswith(start)]
    return shlex.split(line)


@dataclass(frozen=True)
class Followed:
    """The reader's files in a folder, and one server for both systems."""

    folder: Path
    url: str


@pytest.fixture(scope="module")
def followed(tmp_path_factory) -> Iterator[Followed]:
    """The page, followed up to the demo.

    The model server gets the demo's environment, but for files and ports.
    """
    folder = tmp_path_factory.mktemp("tutorial")
    port = str(free_port())
    for name, text in FILES.items():
        (folder / name).write_text(text.replace("9000", port), encoding="utf-8")
    setting, value = command("MODELSERVER_SYSTEMS=")[0].split("=", 1)
    systems = value.replace("my_system.py", str(folder / "my_system.py")).replace("9000", port)
    assert command(".venv/bin/python my_server.py")[1:] == ["my_server.py"]
    elsewhere = subprocess.Popen([sys.executable, str(folder / "my_server.py")], stderr=subprocess.DEVNULL)
    try:
        eventually(lambda: is_port_taken(int(port)))
        with run_server("modelserver", "serve", "--port", "0", **{setting: systems}) as server:
            yield Followed(folder, server.url)
    finally:
        elsewhere.kill()
        elsewhere.wait()


def ask_question(url: str, system: str) -> dict[str, Any]:
    """Return the answer to the question that the page asks with curl."""
    words = command("curl")
    body = json.loads(words[words.index("-d") + 1]) | {"system": system}
    assert words[2].endswith("/v1/predict")
    answer: dict[str, Any] = httpx.post(f"{url}/v1/predict", json=body, trust_env=False).json()
    return answer


def test_the_class_answers_as_the_page_shows(followed: Followed):
    shown = json.loads(re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL)[0])
    answer = ask_question(followed.url, "mine")
    assert len(answer["revision"]) == 12
    assert answer | {"revision": "…"} == shown


def test_the_server_elsewhere_answers(followed: Followed):
    answer = ask_question(followed.url, "far")
    assert answer["revision"] == "first titles 1"
    first, second = answer["predictions"]
    assert (first["answer"], first["facts"]) == ("The band", [["The band", 0]])
    assert second["message"].endswith("/: the context has no sentence")


def test_the_commands_that_serve_name_what_the_page_wrote():
    served = [shlex.split(line) for line in COMMANDS if " serve " in line]
    names = [parse(words[words.index("--systems") + 1])[0] for words in served]
    assert names == [
        ClassSpec("mine", Path("my_system.py"), "MySystem"),
        RemoteSpec("far", "http://127.0.0.1:9000/"),
    ]
    assert {words[words.index("--port") + 1] for words in served} == {"8200"}
    assert {"my_system.py", "my_server.py"} == set(FILES)


def test_the_site_stores_scores_and_shows_their_answers(
    followed: Followed, eager: None, settings: Settings, client: Client
):
    settings.MODEL_SERVER_URL = followed.url
    made_dataset("world-test", entries(4))
    managed = [shlex.split(line)[2:] for line in COMMANDS if "manage.py" in line]
    assert [words[0] for words in managed] == ["predict", "predict", "score"]
    output = StringIO()
    for words in managed:
        call_command(*words, stdout=output, stderr=output)
    assert re.search(r"mine on world-test \(\w{12}\): 4 of 4 questions predicted", output.getvalue())
    assert "far on world-test (first titles 1): 4 of 4" in output.getvalue()
    client.force_login(User.objects.create_superuser("researcher", password="x"))
    (page,) = re.findall(r"<http://127.0.0.1:8000(/admin/predictions/prediction/)>", PAGE)
    shown = client.get(page).content.decode()
    assert "Paul Stone" in shown  # mine
    assert "Night Ferry 3" in shown  # far
    (failures,) = re.findall(r"<http://127.0.0.1:8000(/admin/predictions/predictionfailure/)>", PAGE)
    assert client.get(failures).status_code == 200
