"""Datasets, imports, systems and runs with predictions and scores."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from .connection import FILE, Connection, Query, address
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


class Datasets:
    """The datasets of your workspaces."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def list(self, *, workspace: str | None = None, name: str | None = None) -> Iterator[DatasetRow]:
        """Yield datasets."""
        return self._connection.pages(address("datasets"), {"workspace": workspace, "name": name})

    def get(self, dataset: str) -> DatasetRow:
        """Return a dataset."""
        return self._connection.get(address("datasets", dataset))

    def delete(self, dataset: str) -> None:
        """Delete a dataset that nothing refers to.

        Raises:
            Conflict: Something refers to it; the message names it.
        """
        self._connection.send("DELETE", address("datasets", dataset))

    def questions(
        self, dataset: str, *, external_id: str | None = None, search: str | None = None
    ) -> Iterator[QuestionRow]:
        """Yield the questions of a dataset; ``search`` finds words in them."""
        query = {"external_id": external_id, "search": search}
        return self._connection.pages(address("datasets", dataset, "questions"), query)


class Imports:
    """Imports of files, each in a job; wait for it with ``jobs.wait``."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

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
            workspace: The workspace that gets the dataset.
            name: The name of the dataset; questions are added to an existing one.
            format: The form of the file, which may be packed with zip or gzip.
            licence: The terms of use, if they are known.
            dry_run: Read all of the file, and store nothing: the result previews the import, and `apply`
                does it.
        """
        query = {"kind": "dataset", "workspace": workspace, "name": name, "format": format}
        return self._upload(path, {**query, "licence": licence or None, "dry_run": dry_run})

    def predictions(self, path: str | Path, *, dataset: str, system: str, dry_run: bool = False) -> JobRow:
        """Upload a file of a system's predictions for a dataset."""
        query = {"kind": "predictions", "dataset": dataset, "system": system}
        return self._upload(path, {**query, "dry_run": dry_run})

    def apply(self, job: str) -> JobRow:
        """Apply a preview, from its upload; applying again returns the same job.

        Raises:
            Conflict: The preview refused something, is not finished, or its upload is gone.
        """
        return self._connection.send("POST", address("imports", job, "apply")).json()

    def _upload(self, path: str | Path, query: Query) -> JobRow:
        named = {**query, "file_name": Path(path).name[-100:]}
        with Path(path).open("rb") as file:
            row: JobRow = self._connection.upload(address("imports"), file, FILE, named, once=True)
        return row


class Systems:
    """The systems that ran on datasets of your workspaces."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def list(self, *, workspace: str | None = None) -> Iterator[SystemRow]:
        """Yield systems."""
        return self._connection.pages(address("systems"), {"workspace": workspace})

    def served(self) -> ServedRows:
        """Return the model servers, and the systems that they serve now."""
        return self._connection.get(address("systems", "served"))


class Runs:
    """The runs of systems over datasets."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def list(
        self,
        *,
        workspace: str | None = None,
        dataset: str | None = None,
        system: str | None = None,
        status: RunStatus | None = None,
    ) -> Iterator[RunRow]:
        """Yield runs."""
        query = {"workspace": workspace, "dataset": dataset, "system": system, "status": status}
        return self._connection.pages(address("runs"), query)

    def get(self, run: str) -> RunRow:
        """Return a run with its progress."""
        return self._connection.get(address("runs", run))

    def start(self, *, dataset: str, system: str, kind: RunKind = "predict") -> RunRow:
        """Let a system of the model server work on a dataset, or go on.

        Args:
            dataset: The dataset.
            system: The system.
            kind: ``predict`` for readers, ``execute`` for modular systems.
        """
        body = {"dataset": dataset, "system": system, "kind": kind}
        return self._connection.send("POST", address("runs"), body, once=True).json()

    def wait(
        self,
        run: str,
        *,
        progress: Callable[[RunRow], None] | None = None,
        timeout: float | None = None,
        every: float = 1.0,
    ) -> RunRow:
        """Wait until a run is done, and return it; see ``jobs.wait``.

        Raises:
            RunFailed: The run failed or was cancelled.
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
        return self._connection.send("POST", address("runs", run, "score")).json()

    def weigh(self, run: str, *, method: SaliencyMethod = "integrated-gradients") -> JobRow:
        """Compute the saliency of words for a run's predictions, in a job."""
        return self._connection.send("POST", address("runs", run, "saliency"), {"method": method}).json()

    def delete(self, run: str) -> None:
        """Delete a run that nothing refers to.

        Raises:
            Conflict: Something refers to it; the message names it.
        """
        self._connection.send("DELETE", address("runs", run))

    def cancel(self, run: str) -> RunRow:
        """Cancel a run; its predictions so far stay."""
        return self._connection.send("POST", address("runs", run, "cancel")).json()

    def errors(self, run: str) -> Sequence[FailureGroup]:
        """Return the questions without a prediction, by reason."""
        return self._connection.get(address("runs", run, "errors"))["results"]

    def predictions(self, run: str, *, question: str | None = None) -> Iterator[PredictionRow]:
        """Yield the predictions of a run."""
        return self._connection.pages(address("runs", run, "predictions"), {"question": question})

    def scores(self, run: str) -> ScoreRow:
        """Return the scores of a run.

        Raises:
            NotFound: They are not computed yet.
        """
        return self._connection.get(address("runs", run, "scores"))
