"""Annotation projects: items, images, people, gold, outputs, files."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import httpx

from .connection import LINES, Connection, Query, Subject, build_address
from .jobs import Jobs
from .project_rows import (
    Agreement,
    AnnotationRow,
    AnnotationStatus,
    Averaging,
    BatchRow,
    Comparison,
    EditorState,
    ExportFormat,
    Faithfulness,
    GoldRow,
    GuidelineRow,
    ImageRow,
    ImportFormat,
    ItemImport,
    ItemRow,
    ItemStatus,
    Kind,
    NextItem,
    Order,
    OutputRow,
    OutputRun,
    OutputSystem,
    PaceRow,
    ProjectDetail,
    ProjectMemberRow,
    ProjectRole,
    ProjectRow,
    ProjectStatus,
    Purpose,
)
from .rows import DeliveryRow, InvitationRow, JobRow, NewInvitationRow, NewWebhookRow, WebhookRow

Rows: TypeAlias = Iterable[Mapping[str, Any]]


@dataclass(frozen=True)
class ProjectSettings:
    """The settings of a project.

    Attributes:
        project: The project with its settings and progress.
        etag: The state of the settings, which a change names.
    """

    project: ProjectDetail
    etag: str


class Projects(Subject):
    """The annotation projects that you see.

    Methods take the short name of a project as `project`.
    """

    _root = "projects"

    def __init__(self, connection: Connection) -> None:
        super().__init__(connection)
        self._jobs = Jobs(connection)

    def list(
        self, *, workspace: str | None = None, status: ProjectStatus | None = None
    ) -> Iterator[ProjectRow]:
        """Yield projects.

        Args:
            workspace: The short name of a workspace; None for all of yours.
            status: The status of the projects; None for all.
        """
        return self._pages(workspace=workspace, status=status)

    def create(self, slug: str, *, workspace: str, title: str, kind: Kind, **settings: Any) -> ProjectDetail:
        """Create a project, of which you become a manager.

        Args:
            slug: Its short name.
            workspace: The short name of the workspace that gets the project.
            title: Its title.
            kind: The objects to mark: boxes in images, or spans in passages.
            settings: Settings that differ from the usual, as in `change_settings`, and ``labels`` for a plain
                task: ``{"layers": [...]}`` as `labels` returns them.
        """
        body = {"workspace": workspace, "slug": slug, "title": title, "kind": kind, **settings}
        return self._create(body=body)

    def get(self, project: str) -> ProjectDetail:
        """Return a project with its settings and progress."""
        return self.settings(project).project

    def settings(self, project: str) -> ProjectSettings:
        """Return a project with the state of its settings."""
        return _parse_settings(self._connection.send("GET", build_address("projects", project)))

    def change_settings(self, project: str, settings: Mapping[str, Any], *, etag: str) -> ProjectSettings:
        """Change settings of a project.

        Args:
            project: The short name of the project.
            settings: ``title``, ``annotators_per_item``, ``reservation_minutes``, ``show_answer``,
                ``show_predictions``, ``qualification_score``, ``hidden_gold_every``, ``due_on`` (such as
                "2030-01-31"): those that change.
            etag: The state that the change was made on.

        Raises:
            Conflict: Somebody changed the settings since.
        """
        return _parse_settings(
            self._connection.send("PATCH", build_address("projects", project), settings, etag=etag)
        )

    def close(self, project: str) -> ProjectDetail:
        """Assign no more items."""
        return self._post(project, "close")

    def reopen(self, project: str) -> ProjectDetail:
        """Assign items again."""
        return self._post(project, "reopen")

    def members(self, project: str) -> Iterator[ProjectMemberRow]:
        """Yield the people of a project."""
        return self._pages(project, "members")

    def set_member(
        self, project: str, user: str, *, role: ProjectRole = "annotator", blind: bool | None = None
    ) -> ProjectMemberRow:
        """Share a project with a person, or change their role.

        Args:
            project: The short name of the project.
            user: The user name of the person.
            role: Their role.
            blind: True hides model outputs from them; None leaves that as it is.
        """
        body = {"user": user, "role": role} | ({} if blind is None else {"blind": blind})
        return self._post(project, "members", body=body)

    def end_member(self, project: str, user: str) -> ProjectMemberRow:
        """End the share of a person; their annotations stay.

        Args:
            project: The short name of the project.
            user: The user name of the person.
        """
        return self._send("DELETE", project, "members", user)

    def qualify(self, project: str, user: str, *, qualified: bool = True) -> ProjectMemberRow:
        """Decide if a person qualified.

        Args:
            project: The short name of the project.
            user: The user name of the person.
            qualified: The decision, whatever the score is; True lifts a failed qualification.
        """
        return self._post(project, "members", user, "qualify", body={"qualified": qualified})

    def labels(self, project: str) -> Sequence[Mapping[str, Any]]:
        """Return the layers of the label configuration; none for programs."""
        return self._get(project, "labels")["layers"]

    def change_labels(self, project: str, layers: Sequence[Mapping[str, Any]]) -> Sequence[Mapping[str, Any]]:
        """Change the label configuration, and return its layers.

        Args:
            project: The short name of the project.
            layers: All layers, as `labels` returns them.

        Raises:
            Conflict: The project has items, and more changes than labels that are added, hints and colours.
        """
        return self._send("PUT", project, "labels", body={"layers": [*layers]})["layers"]

    def invitations(self, project: str) -> Iterator[InvitationRow]:
        """Yield the invitations to a project that can still be accepted."""
        return self._pages(project, "invitations")

    def invite(
        self, project: str, *, role: ProjectRole = "annotator", days: int = 7, email: str = ""
    ) -> NewInvitationRow:
        """Create an invitation. Its address is in this row alone.

        Args:
            project: The short name of the project.
            role: The role that the link gives.
            days: The days for which it is valid, 1 to 90.
            email: The address that it is sent to, if any.
        """
        return self._create(project, "invitations", body={"role": role, "days": days, "email": email})

    def revoke(self, project: str, invitation: str) -> None:
        """Revoke an invitation.

        Args:
            project: The short name of the project.
            invitation: The ID of the invitation.
        """
        self._delete(project, "invitations", invitation)

    def guidelines(self, project: str, *, module: str | None = None) -> Iterator[GuidelineRow]:
        """Yield every version of the instructions to annotators.

        Args:
            project: The short name of the project.
            module: The name of a module, "" for the whole project; None for all.
        """
        return self._pages(project, "guidelines", module=module)

    def write_guideline(self, project: str, text: str, *, module: str = "") -> GuidelineRow:
        """Write the next version of the instructions to annotators.

        Args:
            project: The short name of the project.
            text: The instructions.
            module: The name of the module, "" for the whole project.
        """
        return self._post(project, "guidelines", body={"module": module, "text": text})

    def items(
        self, project: str, *, status: ItemStatus | None = None, external_id: str | None = None
    ) -> Iterator[ItemRow]:
        """Yield items.

        Args:
            project: The short name of the project.
            status: The status of the items; None for all.
            external_id: The external ID of an item; None for all.
        """
        return self._pages(project, "items", status=status, external_id=external_id)

    def item(self, project: str, item: str) -> ItemRow:
        """Return an item.

        Args:
            project: The short name of the project.
            item: The ID of the item.
        """
        return self._get(project, "items", item)

    def add_items(
        self, project: str, items: Rows, *, purpose: Purpose = "ordinary", dry_run: bool = False
    ) -> ItemImport:
        """Add items, all or none; the same items again change nothing.

        Args:
            project: The short name of the project.
            items: Items in the form of the JSON lines that the site imports, at most 16 MiB together.
            purpose: Their purpose.
            dry_run: Check the items, and store nothing.
        """
        return self._add_lines(project, "items", items, {"purpose": purpose, "dry_run": dry_run})

    def import_file(
        self,
        project: str,
        path: str | Path,
        *,
        format: ImportFormat,
        purpose: Purpose = "ordinary",
        labels_from_file: bool = False,
        dry_run: bool = False,
    ) -> JobRow:
        """Upload a file of items, or a zip file with their images, to a job.

        Wait for it with ``jobs.wait``.

        Args:
            project: The short name of the project.
            path: The file.
            format: Its form; "images" is a zip file of images alone.
            purpose: The purpose of the items.
            labels_from_file: Replace the task of the project, which has no items yet, by that of the file.
            dry_run: Read all of the file, and store nothing.
        """
        query = {
            "format": format,
            "purpose": purpose,
            "labels_from_file": labels_from_file,
            "dry_run": dry_run,
            "file_name": Path(path).name[-100:],
        }
        return self._upload(path, query, project, "imports", once=True)

    def order_items(self, project: str, order: Order, *, items: Sequence[str] = ()) -> int:
        """Order the assignment of items, and return how many were ordered.

        Args:
            project: The short name of the project.
            order: "file", "random", "uncertain" (least certain for models first) or "disputed" (most
                disagreement first) for all items; "first" or "last" moves ``items``.
            items: External IDs, in the order wanted.
        """
        body = {"order": order, "items": [*items]}
        return int(self._post(project, "items", "order", body=body)["items"])

    def images(self, project: str, *, name: str | None = None) -> Iterator[ImageRow]:
        """Yield the images of a project.

        Args:
            project: The short name of the project.
            name: The name by which items refer to an image; None for all.
        """
        return self._pages(project, "images", name=name)

    def add_image(self, project: str, path: str | Path, *, name: str | None = None) -> ImageRow:
        """Upload an image.

        Args:
            project: The short name of the project.
            path: The file.
            name: The name by which items refer to it; None for that of the file.
        """
        query = {"name": name if name is not None else Path(path).name}
        return self._upload(path, query, project, "images")

    def download_image(self, project: str, image: str, path: str | Path) -> Path:
        """Write an image to a file, and return its path.

        Args:
            project: The short name of the project.
            image: The ID of the image.
            path: The file to write.
        """
        return self._download(project, "images", image, to=path)

    def next(self, project: str) -> NextItem:
        """Start or resume your next annotation, which `annotations` saves."""
        return self._post(project, "next")

    def annotations(
        self,
        project: str,
        *,
        item: str | None = None,
        annotator: str | None = None,
        status: AnnotationStatus | None = None,
    ) -> Iterator[AnnotationRow]:
        """Yield annotations with their documents.

        Args:
            project: The short name of the project.
            item: The external ID of an item; None for all.
            annotator: The user name of an annotator; None for all.
            status: The status of the annotations; None for all.
        """
        return self._pages(project, "annotations", item=item, annotator=annotator, status=status)

    def assign(self, project: str, item: str, *, annotator: str) -> AnnotationRow:
        """Assign an item to a person.

        Args:
            project: The short name of the project.
            item: The external ID of the item.
            annotator: The user name of the person.
        """
        return self._post(project, "annotations", body={"item": item, "annotator": annotator})

    def batches(self, project: str) -> Iterator[BatchRow]:
        """Yield the batches that you see, the oldest first."""
        return self._pages(project, "batches")

    def assign_batch(
        self,
        project: str,
        name: str,
        *,
        annotator: str,
        number: int | None = None,
        items: Sequence[str] = (),
        due_on: str | None = None,
    ) -> BatchRow:
        """Reserve items for a person until they are done or released.

        Args:
            project: The short name of the project.
            name: The name of the batch.
            annotator: The user name of the person.
            number: Of the next free items; there may be fewer.
            items: External IDs of chosen items instead.
            due_on: The due date, such as "2030-01-31".

        Raises:
            Conflict: The person has one of the items already, or a batch of this name.
        """
        body = {"name": name, "annotator": annotator, "number": number, "items": [*items], "due_on": due_on}
        return self._create(project, "batches", body=body)

    def change_due_date(self, project: str, batch: str, due_on: str | None) -> BatchRow:
        """Give a batch another due date, or none.

        Args:
            project: The short name of the project.
            batch: The ID of the batch.
            due_on: The due date, such as "2030-01-31"; None for none.
        """
        return self._send("PATCH", project, "batches", batch, body={"due_on": due_on})

    def release_batch(self, project: str, batch: str) -> None:
        """Release the unfinished items of a batch; annotations remain.

        Args:
            project: The short name of the project.
            batch: The ID of the batch.
        """
        self._delete(project, "batches", batch)

    def pace(self, project: str, *, days: int = 30) -> Sequence[PaceRow]:
        """Return the submissions of each person on each of the last days.

        Args:
            project: The short name of the project.
            days: The number of days, back from today.
        """
        return self._get(project, "pace", days=days)["results"]

    def adjudicate(self, project: str, item: str) -> EditorState:
        """Start or resume the adjudication of an item.

        Args:
            project: The short name of the project.
            item: The ID of the item.
        """
        return self._post(project, "items", item, "adjudicate")

    def agreement(self, project: str) -> Agreement:
        """Measure inter-annotator agreement."""
        return self._get(project, "agreement")

    def gold(self, project: str, *, item: str | None = None, versions: bool = False) -> Iterator[GoldRow]:
        """Yield current gold, or every version of it.

        Args:
            project: The short name of the project.
            item: The external ID of an item; None for all.
            versions: True yields every version, False the current ones.
        """
        return self._pages(project, "gold", item=item, versions=versions)

    def set_gold(self, project: str, item: str, document: Mapping[str, Any]) -> GoldRow:
        """Give an item a new version of its gold.

        Args:
            project: The short name of the project.
            item: The ID of the item.
            document: The gold in the form of an annotation's document: ``layers`` by node, each with its
                state and objects.
        """
        return self._create(project, "items", item, "gold", body={"document": document})

    def export(
        self,
        project: str,
        path: str | Path,
        *,
        format: ExportFormat = "jsonl",
        gold_only: bool = False,
        progress: Callable[[JobRow], None] | None = None,
        timeout: float | None = None,
    ) -> Path:
        """Export the items with gold and annotations, and write the file.

        Args:
            project: The short name of the project.
            path: The file to write.
            format: Its form; forms of several files come as a zip file.
            gold_only: Leave out items without gold.
            progress: Is called with the state of the job.
            timeout: Seconds to wait for the job at most.

        Raises:
            JobFailed: The form cannot hold the items, or another reason.
            WaitTimeout: The job is not finished in time.
        """
        body = {"format": format, "gold_only": gold_only}
        sent: JobRow = self._create(project, "exports", body=body)
        job = self._jobs.wait(sent["id"], progress=progress, timeout=timeout)
        return self._jobs.download(job["id"], path)

    def outputs(
        self, project: str, *, item: str | None = None, system: str | None = None, revision: str | None = None
    ) -> Iterator[OutputRow]:
        """Yield model outputs.

        Args:
            project: The short name of the project.
            item: The external ID of an item; None for all.
            system: The name of a system; None for all.
            revision: A revision of the system; None for all.
        """
        return self._pages(project, "outputs", item=item, system=system, revision=revision)

    def add_outputs(self, project: str, outputs: Rows, *, system: str, revision: str) -> int:
        """Add model outputs, all or none, and return how many are new.

        Args:
            project: The short name of the project.
            outputs: Outputs in the form of the JSON lines that the site imports, at most 16 MiB together.
            system: The system.
            revision: Its revision.
        """
        query = {"system": system, "revision": revision}
        return self._add_lines(project, "outputs", outputs, query)["added"]

    def systems(self, project: str) -> Sequence[OutputSystem]:
        """Return the systems with outputs in a project."""
        return self._get(project, "outputs", "systems")["results"]

    def faithfulness(
        self, project: str, *, system: str, revision: str, worst: int = 50, resamples: int = 0, seed: int = 0
    ) -> Faithfulness:
        """Score the modules of a system against the current gold.

        Args:
            project: The short name of the project.
            system: The system.
            revision: Its revision.
            worst: The number of items to list, from the worst on.
            resamples: The number of resamples for confidence intervals; 0 gives none.
            seed: The seed of the resamples.
        """
        query: dict[str, Any] = {"system": system, "revision": revision, "worst": worst}
        query |= {"resamples": resamples, "seed": seed}
        return self._get(project, "outputs", "faithfulness", **query)

    def compare(
        self,
        project: str,
        first: tuple[str, str],
        second: tuple[str, str],
        *,
        averaging: Averaging = "per_example",
        module: str = "overall",
        trials: int = 100_000,
        seed: int = 0,
    ) -> Comparison:
        """Compare two systems by a permutation test.

        Args:
            project: The short name of the project.
            first: Name and revision of a system.
            second: Name and revision of the other system.
            averaging: The way in which scores are averaged; spans have only one.
            module: The name of the module type to compare; ``overall`` for all.
            trials: The number of random swaps, at most 100,000.
            seed: The seed of the swaps.
        """
        names = ("first_system", "first_revision", "second_system", "second_revision")
        query: dict[str, Any] = dict(zip(names, (*first, *second), strict=True))
        query |= {"averaging": averaging, "module": module, "trials": trials, "seed": seed}
        return self._get(project, "outputs", "comparison", **query)

    def runs(self, project: str) -> Iterator[OutputRun]:
        """Yield the runs of served systems over a project."""
        return self._pages(project, "runs")

    def start_run(self, project: str, *, system: str) -> OutputRun:
        """Start or resume a served modular network over the programs.

        Args:
            project: The short name of the project.
            system: The name of the system.
        """
        return self._create(project, "runs", body={"system": system})

    def cancel_run(self, project: str, run: str) -> OutputRun:
        """Cancel a run; its outputs so far stay.

        Args:
            project: The short name of the project.
            run: The ID of the run.
        """
        return self._post(project, "runs", run, "cancel")

    def webhooks(self, project: str) -> Iterator[WebhookRow]:
        """Yield the webhooks, without their secrets."""
        return self._pages(project, "webhooks")

    def add_webhook(self, project: str, url: str, *, kinds: Sequence[str] = ()) -> NewWebhookRow:
        """Add a webhook. Its signing secret is in this row alone.

        Args:
            project: The short name of the project.
            url: The public address that gets the events.
            kinds: The kinds of events; all without any.
        """
        return self._create(project, "webhooks", body={"url": url, "kinds": [*kinds]})

    def deliveries(self, project: str, webhook: str) -> Iterator[DeliveryRow]:
        """Yield the deliveries of a webhook, oldest first.

        Args:
            project: The short name of the project.
            webhook: The ID of the webhook.
        """
        return self._pages(project, "webhooks", webhook, "deliveries")

    def end_webhook(self, project: str, webhook: str) -> None:
        """Send nothing more to a webhook.

        Args:
            project: The short name of the project.
            webhook: The ID of the webhook.
        """
        self._delete(project, "webhooks", webhook)

    def _add_lines(self, project: str, part: str, rows: Rows, query: Query) -> Any:
        lines = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
        return self._connection.upload(build_address("projects", project, part), lines.encode(), LINES, query)


def _parse_settings(response: httpx.Response) -> ProjectSettings:
    return ProjectSettings(response.json(), response.headers["ETag"])
