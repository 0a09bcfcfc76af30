"""The content of the demo: logins, predictions, studies, annotation.

Every step skips existing content, so a second run adds nothing, and an interrupted
run continues. Changes by people stay as they are. ``demo.json`` in the data folder
stores the passwords and the tokens of links, readable by its owner alone, because
the database stores neither of them.
"""

from __future__ import annotations

import io
import json
import os
import secrets
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from django.conf import settings
from django.core.management import call_command

from accounts.actions.workspaces import give_role
from accounts.models import Role, User
from accounts.queries.workspaces import choose_workspace
from annotation.models import SystemOutput
from config.demo import annotation as demo_annotation
from jobs.model_servers.gateway import list_served_names
from predictions.models import Dataset
from studyapp.actions.links import create_link
from studyapp.definition.definition_file import load_definition
from studyapp.link_tokens import find_link
from studyapp.models import Study

USERNAME = "researcher"


class Generated(NamedTuple):
    """A study of generated questions, and the systems that answer them.

    Attributes:
        definition: The study's file.
        questions: Number of questions of its dataset.
        seed: Of the world, another one than the shipped systems were trained on and tested with.
        systems: Those that answer.
        is_scored: They are scored, too; a language model reads each question nine times for that.
    """

    definition: Path
    questions: int
    seed: int
    systems: tuple[str, ...]
    is_scored: bool


READERS = Generated(
    Path("docs/examples/world-study.yaml"), 100, 20, ("qi2019", "select-and-forget"), is_scored=True
)
LANGUAGE = Generated(
    Path("docs/examples/language-study.yaml"),
    20,
    21,
    ("world-lm", "world-lm-answer-first", "select-and-forget"),
    is_scored=False,
)
STEPS = Path("docs/examples/programs-study.yaml")
STEPS_PROJECT = "scenes"
# The demo launches its studies before the site runs, so that nobody can rehearse or judge them.
ACCEPTED = [("judging", "a demonstration; nobody judged"), ("rehearsal", "a demonstration; nobody rehearsed")]


class Secrets(NamedTuple):
    """The content of ``demo.json``: passwords by user, tokens by study."""

    passwords: dict[str, str]
    tokens: dict[str, str]


def load(say: Callable[[str], object]) -> None:
    """Create the missing content of the demo, and write ``demo.json``.

    Raises:
        CommandError: One of the commands failed.
    """
    kept = _read_secrets()
    passwords = {
        name: _ensure_login(name, kept.passwords.get(name, ""))
        for name in (USERNAME, *demo_annotation.PEOPLE)
    }
    tokens = kept.tokens
    is_served = set(LANGUAGE.systems) <= set(list_served_names("reader"))
    for generated in (READERS, LANGUAGE) if is_served else (READERS,):
        study = _ensure_study(generated.definition, partial(_create_predictions, generated, say))
        tokens |= {study.slug: _ensure_token(study, kept.tokens.get(study.slug, ""))}
        _keep(Secrets(passwords, tokens))
    demo_annotation.load(say, User.objects.get(username=USERNAME))
    demo_annotation.execute_programs(say)
    if (steps := _ensure_steps_study(say)) is not None:
        tokens[steps.slug] = _ensure_token(steps, kept.tokens.get(steps.slug, ""))
        _keep(Secrets(passwords, tokens))


def _ensure_study(path: Path, prepare: Callable[[str], None]) -> Study:
    """Return the launched study; ``prepare`` imports the dataset of a new one."""
    definition = load_definition(settings.BASE_DIR / path)
    if not Study.objects.filter(slug=definition.study).exists():
        prepare(definition.dataset)
        call_quietly("create_study", str(settings.BASE_DIR / path))
    study = Study.objects.get(slug=definition.study)
    if study.status == Study.Status.DRAFT:
        call_quietly("launch_study", study.slug, accept=ACCEPTED)
    return study


def _ensure_steps_study(say: Callable[[str], object]) -> Study | None:
    """Return the study of model outputs, None if the model is not served."""
    system = demo_annotation.NETWORKS[STEPS_PROJECT]
    if not SystemOutput.objects.filter(item__project__slug=STEPS_PROJECT, system=system).exists():
        return None

    def prepare(dataset: str) -> None:
        say(f"Creating a study of the steps of {system} ...")
        call_quietly("import_programs", STEPS_PROJECT, "--name", dataset, "--system", system)

    return _ensure_study(STEPS, prepare)


def call_quietly(*arguments: str, **options: Any) -> None:
    """Call a command without its output, but with progress and warnings."""
    call_command(*arguments, stdout=io.StringIO(), **options)


def _ensure_login(name: str, password: str) -> str:
    """Create a missing login; return its password, "" if a person changed it."""
    user = User.objects.filter(username=name).first()
    if user is None:
        password = password or secrets.token_urlsafe(12)
        create = User.objects.create_superuser if name == USERNAME else User.objects.create_user
        user = create(name, password=password)
        if name == USERNAME:
            give_role(workspace=choose_workspace(None), user=user, role=Role.OWNER, by=None)
        return password
    return password if user.check_password(password) else ""


def _create_predictions(generated: Generated, say: Callable[[str], object], dataset: str) -> None:
    systems, questions = generated.systems, generated.questions
    if not Dataset.objects.filter(name=dataset).exists():
        say("Generating questions about a fictional world ...")
        with tempfile.TemporaryDirectory() as folder:
            demo_annotation.generate("world", Path(folder), questions, generated.seed)
            call_quietly("import_dataset", "hotpot", f"{folder}/test.json", name=dataset)
    act = "Predicting and scoring" if generated.is_scored else "Predicting"
    say(f"{act} {questions} questions with {len(systems)} systems ...")
    for system in systems:
        call_quietly("predict", dataset=dataset, system=system, wait=True)
    if generated.is_scored:  # the command warns of every score that is undefined for so few questions
        call_quietly("score", dataset=dataset, system=list(systems), stderr=io.StringIO())


def _ensure_token(study: Study, token: str) -> str:
    """Return the token of the shared link; create one if it is invalid."""
    link = find_link(token) if token else None
    if link is not None and link.study_id == study.pk:
        return token
    return create_link(study=study, label="demo", by=None)[1]


def _build_path() -> Path:
    return Path(settings.VAR_DIR) / "demo.json"


def _read_secrets() -> Secrets:
    if not _build_path().exists():
        return Secrets({}, {})
    kept: dict[str, Any] = json.loads(_build_path().read_text(encoding="utf-8"))
    logins = [kept["staff"], *kept.get("annotators", [])]
    return Secrets(
        {login["username"]: login["password"] for login in logins},
        {study["slug"]: study["token"] for study in kept["studies"]},
    )


def _keep(kept: Secrets) -> None:
    """Write ``demo.json`` whole or not at all."""
    logins = [{"username": name, "password": password} for name, password in kept.passwords.items()]
    content = {
        "staff": logins[0],
        "annotators": logins[1:],
        "projects": list(demo_annotation.PROJECTS),
        "studies": [{"slug": slug, "token": token} for slug, token in kept.tokens.items()],
    }
    draft = _build_path().with_suffix(".new")
    with open(draft, "w", encoding="utf-8", opener=lambda path, flags: os.open(path, flags, 0o600)) as file:
        json.dump(content, file, indent=1)
    draft.replace(_build_path())
