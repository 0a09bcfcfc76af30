"""Serve a study of oTree with as many items as ours."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx

from scripts.sites.processes import Part, Supervisor, free_port, is_url_answering

PEOPLE = 400  # that may come; oTree makes their rows in advance
FILES = {
    "settings.py": """
SESSION_CONFIGS = [dict(name="judge", app_sequence=["judge"], num_demo_participants=1)]
SESSION_CONFIG_DEFAULTS = dict(real_world_currency_per_point=1.0, participation_fee=0.0, doc="")
PARTICIPANT_FIELDS, SESSION_FIELDS = [], []
LANGUAGE_CODE, REAL_WORLD_CURRENCY_CODE, USE_POINTS = "en", "USD", False
ADMIN_USERNAME, ADMIN_PASSWORD, DEMO_PAGE_INTRO_HTML = "admin", "of-a-benchmark", ""
SECRET_KEY = "of-a-benchmark"
""",
    "judge/__init__.py": """
from otree.api import *

class C(BaseConstants):
    NAME_IN_URL, PLAYERS_PER_GROUP, NUM_ROUNDS = "judge", None, 25
    PASSAGE = " ".join("In week %d Ada kicked a %d-yard field goal." % (n, 20 + n) for n in range(1, 30))

class Subsession(BaseSubsession):
    pass

class Group(BaseGroup):
    pass

class Player(BasePlayer):
    rated_correct = models.BooleanField(widget=widgets.RadioSelect)
    known_before = models.BooleanField(widget=widgets.RadioSelect)
    certainty = models.IntegerField(choices=[1, 2, 3, 4, 5], widget=widgets.RadioSelect)
    helpfulness = models.IntegerField(choices=[1, 2, 3, 4, 5], widget=widgets.RadioSelect)

class Judge(Page):
    form_model = "player"
    form_fields = ["rated_correct", "known_before", "certainty", "helpfulness"]

page_sequence = [Judge]
""",
    "judge/Judge.html": """
{{ block title }}Is the answer correct?{{ endblock }}
{{ block content }}<p>{{ C.PASSAGE }}</p>{{ formfields }}{{ next_button }}{{ endblock }}
""",
}


@contextmanager
def serve_otree_study(programs: Path, folder: Path, database: str) -> Iterator[tuple[str, int]]:
    """Serve the study from an empty folder.

    Args:
        programs: The folder of programs of oTree's environment.
        folder: An empty folder.
        database: The URL of a PostgreSQL database; without it oTree keeps everything in memory until it ends.

    Yields:
        The link for everybody, and the server's process group.
    """
    for name in ("judge", "_static"):
        (folder / name).mkdir()
    for name, text in FILES.items():
        (folder / name).write_text(text, encoding="utf-8")
    env = {**os.environ, "OTREE_PRODUCTION": "1", "PATH": f"{programs}:{os.environ['PATH']}"}
    env |= {"DATABASE_URL": database} if database else {}
    otree, port = str(programs / "otree"), free_port()
    url = f"http://127.0.0.1:{port}"
    subprocess.run([otree, "resetdb", "--noinput"], cwd=folder, env=env, check=True, capture_output=True)
    command = ["env", "--chdir", str(folder), otree, "prodserver", str(port)]
    with Supervisor() as parts:
        parts.start(
            Part(name="oTree", command=command, log=folder / "log", env=env,
                 ready=lambda: is_url_answering(f"{url}/login"))
        )  # fmt: skip
        parts.wait_ready()
        body = {"session_config_name": "judge", "num_participants": PEOPLE}
        response = httpx.post(f"{url}/api/sessions", json=body, trust_env=False, timeout=600)
        yield response.raise_for_status().json()["session_wide_url"], parts.pids["oTree"]
