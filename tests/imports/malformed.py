"""Import malformed files and list those that end without findings."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path
from typing import Any

from django.db import transaction

from accounts.models import User
from annotation.models import Gold, ImageFile, Item, ItemImport, Project
from jobs.actions.jobs import create_job, run_job
from jobs.models import Job
from predictions.imports import QUESTION_FORMATS
from predictions.models import Dataset, Prediction, PredictionRun, Question
from tests import workspaces
from tests.annotation.factories import make_project, make_user
from tests.imports.files import spoiled, valid_files
from tests.studyapp.questions import entries
from tests.studyapp.serving import made_dataset

TABLES = (User, Item, ImageFile, Gold, ItemImport, Dataset, Question, Prediction, PredictionRun)
FOLDERS = ("pictures/", "wiki-pages/")
WITHOUT_LINES = (".zip", ".gz", ".png")


def check_imports(count: int, seed: int, folder: Path) -> tuple[list[str], Counter[str]]:
    """Preview and import spoiled files; undo each import.

    Args:
        count: The number of files.
        seed: The seed of the generator; each file has its own, made of the seed and its number.
        folder: An empty folder. `settings.JOB_FOLDER` and the images of the site have to be temporary, too.

    Returns:
        The files that end otherwise than they should, and the number of files by their end.
    """
    wrong: list[str] = []
    ends: Counter[str] = Counter()
    files = valid_files(folder)
    names, site = sorted(files), _Site()
    for number in range(count):
        rng, name = random.Random(f"{seed}/{number}"), names[number % len(names)]
        upload, content = spoiled(name, files[name], rng)
        with transaction.atomic():
            try:
                ends[site.imported(name, upload, content, compare=number % 4 == 0)] += 1
            except Exception as error:  # each is a finding of the test
                wrong.append(f"{seed}/{number}, {upload}: {error!r}"[:400])
            transaction.set_rollback(True)
    return wrong, ends


class _Site:
    """A project of each kind and a dataset that the uploads go to."""

    def __init__(self) -> None:
        self.by = make_user()
        self.projects = {kind: make_project(slug=kind, kind=kind) for kind in ("boxes", "spans")}
        self.dataset = made_dataset("films", entries(4))

    def imported(self, name: str, upload: str, content: bytes, *, compare: bool) -> str:
        """Import an upload; return how it ends. Compare it with its preview.

        Raises:
            AssertionError: It has no findings, stores something, or the two differ.
        """
        before = [model.objects.count() for model in TABLES]
        preview = self._run(name, upload, content, dry_run=True) if compare else None
        assert [model.objects.count() for model in TABLES] == before, "the preview stores something"
        done = self._run(name, upload, content, dry_run=False)
        assert done.result is not None, done.error
        if preview is not None:
            assert preview.status == Job.Status.DONE, preview.error
            assert done.result["refused"] == preview.result["refused"], "another outcome than the preview"
        if done.status == Job.Status.DONE:
            assert not done.result["refused"]
            return "stored"
        assert done.result["refused"], done.error
        assert [model.objects.count() for model in TABLES] == before, "a refused file stores something"
        for finding in done.result["refused"]:
            assert finding["file"], finding
            assert finding["reason"], finding
            assert finding["line"] or finding["file"].endswith(WITHOUT_LINES), finding
            assert "/" not in finding["file"] or finding["file"].startswith(FOLDERS), finding
        return "refused"

    def _run(self, name: str, upload: str, content: bytes, *, dry_run: bool) -> Job:
        options: dict[str, Any] = {"dry_run": dry_run}
        if name in QUESTION_FORMATS:
            kind, options = "import_dataset", {**options, "name": "new", "format": name}
        elif name == "predictions":
            kind, options = "import_predictions", {**options, "dataset": self.dataset.pk, "system": "net"}
        else:
            kind, options = "import_items", {**options, "project": self._project(name).pk, "format": name}
        job = create_job(
            kind=kind,
            workspace=workspaces.main(),
            by=self.by,
            options=options,
            upload=[content],
            upload_name=upload,
        )
        run_job(job_id=job.pk)
        job.refresh_from_db()
        return job

    def _project(self, name: str) -> Project:
        return self.projects["spans" if name in ("drop", "reasons") else "boxes"]
