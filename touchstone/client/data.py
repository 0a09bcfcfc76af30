"""Datasets, imports, systems and runs with predictions and scores."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from .connection import Query, Subject
from .errors import RunFailed
from .rows import (
    DatasetFormat,
    DatasetRow,
    FailureGroup,
    JobRow,
    PredictionRow,
    QuestionRow,
    RunKind,
    RunRow,
    RunStatus,
    SaliencyMethod,
    ScoreRow,
    ServedRows,
    SystemRow,
)


class Datasets(Subject):
    """The datasets of your workspaces.

    Methods take the ID of a dataset as `dataset`.
    """

    _root = "datasets"

    def list(self, *, workspace: str | None = None, name: str | None = None) -> Iterator[DatasetRow]:
        """Yield datasets.

        Args:
            workspace: The short name of a workspace; None for all of yours.
            name: The name of the datasets; None for all.
        """
        return self._pages(workspace=workspace, name=name)

    def get(self, dataset: str) -> DatasetRow:
        """Return a dataset."""
        return self._get(dataset)

    def delete(self, dataset: str) -> None:
        """Delete a dataset that nothing refers to.

        Raises:
            Conflict: Something refers to it; the message names it.
        """
        self._delete(dataset)

    def questions(
        self, dataset: str, *, external_id: str | None = None, search: str | None = None
    ) -> Iterator[QuestionRow]:
        """Yield the questions of a dataset.

        Args:
            dataset: The ID of the dataset.
            external_id: The ID of a question in the dataset's file; None for all.
            search: Words to find in text or answer; None for all.
        """
        return self._pages(dataset, "questions", external_id=external_id, search=search)


class Imports(Subject):
    """Imports of files, each in a job; wait for it with ``jobs.wait``."""

    _root = "imports"

    def dataset(
        self,
        path: str | Path,
        *,
        workspace: str,
        name: str,
        format: DatasetFormat,
        licence: str = "",
        dry_run: bool = False,
    ) -> JobRow:
        """Upload a file of questions.

        Args:
            path: The file.
            workspace: The short name of the workspace that gets the dataset.
            name: The name of the dataset; questions are added to an existing one.
            format: The form of the file, which may be packed with zip or gzip.
            licence: The terms of use, if they are known.
            dry_run: Read all of the file, and store nothing: the result previews the import, and `apply` does
                it.
        """
        query = {"kind": "dataset", "workspace": workspace, "name": name, "format": format}
        return self._import(path, {**query, "licence": licence or None, "dry_run": dry_run})

    def predictions(self, path: str | Path, *, dataset: str, system: str, dry_run: bool = False) -> JobRow:
        """Upload a file of a system's predictions for a dataset.

        Args:
            path: The file, which may be packed with zip or gzip.
            dataset: The ID of the dataset.
            system: The name of the system.
            dry_run: Read all of the file, and store nothing: the result previews the import, and `apply` does
                it.
        """
        query = {"kind": "predictions", "dataset": dataset, "system": system}
        return self._import(path, {**query, "dry_run": dry_run})

    def apply(self, job: str) -> JobRow:
        """Apply a preview, from its upload; applying again returns the same job.

        Args:
            job: The ID of the job that made the preview.

        Raises:
            Conflict: The preview refused something, is not finished, or its upload is gone.
        """
        return self._post(job, "apply")

    def _import(self, path: str | Path, query: Query) -> JobRow:
        return self._upload(path, {**query, "file_name": Path(path).name[-100:]}, once=True)


class Systems(Subject):
    """The systems that ran on datasets of your workspaces."""

    _root = "systems"

    def list(self, *, workspace: str | None = None) -> Iterator[SystemRow]:
        """Yield systems.

        Args:
            workspace: The short name of a workspace; None for all of yours.
        """
        return self._pages(workspace=workspace)

    def served(self) -> ServedRows:
        """Return the model servers, and the systems that they serve now."""
        return self._get("served")


class Runs(Subject):
    """The runs of systems over datasets.

    Methods take the ID of a run as `run`.
    """

    _root = "runs"

    def list(
        self,
        *,
        workspace: str | None = None,
        dataset: str | None = None,
        system: str | None = None,
        status: RunStatus | None = None,
    ) -> Iterator[RunRow]:
        """Yield runs.

        Args:
            workspace: The short name of a workspace; None for all of yours.
            dataset: The ID of a dataset; None for all.
            system: The name of a system; None for all.
            status: The status of the runs; None for all.
        """
        return self._pages(workspace=workspace, dataset=dataset, system=system, status=status)

    def get(self, run: str) -> RunRow:
        """Return a run with its progress."""
        return self._get(run)

    def start(self, *, dataset: str, system: str, kind: RunKind = "predict") -> RunRow:
        """Let a system of the model server work on a dataset, or go on.

        Args:
            dataset: The ID of the dataset.
            system: The name of the system.
            kind: ``predict`` for readers, ``execute`` for modular systems.
        """
        return self._create(body={"dataset": dataset, "system": system, "kind": kind})

    def wait(
        self,
        run: str,
        *,
        progress: Callable[[RunRow], None] | None = None,
        timeout: float | None = None,
        every: float = 1.0,
    ) -> RunRow:
        """Wait until a run is done, and return it.

        Args:
            run: The ID of the run.
            progress: Is called with each state, which has ``predictions``, ``failures`` and ``questions``.
            timeout: Seconds to wait at most; None waits for ever.
            every: Seconds between two requests.

        Raises:
            RunFailed: The run failed, was cancelled, or is paused because its budget is spent.
            WaitTimeout: It is not finished in time; it goes on.
        """
        row: RunRow = self._connection.wait(
            lambda: self.get(run), progress=progress, timeout=timeout, every=every
        )
        if row["status"] != "done":
            raise RunFailed(row)
        return row

    def score(self, run: str) -> JobRow:
        """Score a run in a job; wait for it with ``jobs.wait``."""
        return self._post(run, "score")

    def weigh(self, run: str, *, method: SaliencyMethod = "integrated-gradients") -> JobRow:
        """Compute the saliency of words for a run's predictions, in a job.

        Args:
            run: The ID of the run.
            method: The method that weighs the words.
        """
        return self._post(run, "saliency", body={"method": method})

    def delete(self, run: str) -> None:
        """Delete a run that nothing refers to.

        Raises:
            Conflict: Something refers to it; the message names it.
        """
        self._delete(run)

    def cancel(self, run: str) -> RunRow:
        """Cancel a run; its predictions so far stay."""
        return self._post(run, "cancel")

    def errors(self, run: str) -> Sequence[FailureGroup]:
        """Return the questions without a prediction, by reason."""
        return self._get(run, "errors")["results"]

    def predictions(self, run: str, *, question: str | None = None) -> Iterator[PredictionRow]:
        """Yield the predictions of a run.

        Args:
            run: The ID of the run.
            question: The ID of a question in the dataset's file; None for all.
        """
        return self._pages(run, "predictions", question=question)

    def scores(self, run: str) -> ScoreRow:
        """Return the scores of a run.

        Raises:
            NotFound: They are not computed yet.
        """
        return self._get(run, "scores")
