"""Studies: draft, life cycle, links, rows, exports, reports."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import httpx
import yaml

from .connection import Connection, Subject, build_address
from .jobs import Jobs
from .rows import (
    BundleFormat,
    DeliveryRow,
    DraftProblem,
    EstimatesSoFar,
    Flow,
    JobRow,
    LaunchCheck,
    LinkRow,
    Mode,
    NewLinkRow,
    NewWebhookRow,
    PaymentPlan,
    PaymentRow,
    Progress,
    StudyRow,
    StudyStatus,
    TableName,
    VersionRow,
    WebhookKind,
    WebhookRow,
)

Definition: TypeAlias = Mapping[str, Any] | str | Path
OnProgress: TypeAlias = Callable[[JobRow], None]


@dataclass(frozen=True)
class Draft:
    """The draft of a study.

    Attributes:
        revision: Its number.
        definition: The study definition; it need not be complete.
        problems: The reasons that prevent a launch.
        checks: The checklist before a launch; a check that is undecided needs a decision.
        etag: The state, which a change names.
    """

    revision: int
    definition: dict[str, Any]
    problems: list[DraftProblem]
    checks: list[LaunchCheck]
    etag: str


class Studies(Subject):
    """The studies that you see.

    Methods take the short name of a study as `study`.
    """

    _root = "studies"

    def __init__(self, connection: Connection) -> None:
        super().__init__(connection)
        self._jobs = Jobs(connection)

    def list(
        self,
        *,
        workspace: str | None = None,
        status: StudyStatus | None = None,
        archived: bool | None = None,
    ) -> Iterator[StudyRow]:
        """Yield studies.

        Args:
            workspace: The short name of a workspace; None for all of yours.
            status: The status of the studies; None for all.
            archived: True for archived studies, False for the others; None for all.
        """
        return self._pages(workspace=workspace, status=status, archived=archived)

    def get(self, study: str) -> StudyRow:
        """Return a study."""
        return self._get(study)

    def create(self, definition: Definition, *, workspace: str) -> StudyRow:
        """Create a study with a draft.

        Args:
            definition: The study definition as a mapping, as YAML text, or as the path of a YAML file. Its
                ``study`` is the short name.
            workspace: The short name of the workspace that gets the study.

        Raises:
            ValueError: The definition is not YAML, or not a mapping.
        """
        return self._create(body={"workspace": workspace, "definition": read_definition(definition)})

    def draft(self, study: str) -> Draft:
        """Return the draft of a study with its problems."""
        return _parse_draft(self._connection.send("GET", build_address("studies", study, "draft")))

    def replace_draft(self, study: str, definition: Definition, *, etag: str) -> Draft:
        """Replace the draft, and return the new one.

        Args:
            study: The short name of the study.
            definition: As in `create`.
            etag: That of the draft that the change was made on.

        Raises:
            Conflict: Somebody changed the draft since.
            ValueError: The definition is not YAML, or not a mapping.
        """
        path, body = build_address("studies", study, "draft"), {"definition": read_definition(definition)}
        return _parse_draft(self._connection.send("PUT", path, body, etag=etag))

    def launch(self, study: str, accept: Mapping[str, str] | None = None) -> StudyRow:
        """Freeze the draft into a version, and open the study.

        Args:
            study: The short name of the study.
            accept: Decisions to launch although a check is open: the reason by the name of the check.
        """
        return self._post(study, "launch", body={"accept": dict(accept)} if accept else None)

    def pause(self, study: str) -> StudyRow:
        """Admit no participants for a while."""
        return self._post(study, "pause")

    def resume(self, study: str) -> StudyRow:
        """End a pause."""
        return self._post(study, "resume")

    def close(self, study: str) -> StudyRow:
        """Admit no more participants."""
        return self._post(study, "close")

    def reopen(self, study: str) -> StudyRow:
        """Admit participants again."""
        return self._post(study, "reopen")

    def versions(self, study: str) -> Iterator[VersionRow]:
        """Yield the versions that launches froze."""
        return self._pages(study, "versions")

    def links(self, study: str) -> Iterator[LinkRow]:
        """Yield the entry links, without their addresses."""
        return self._pages(study, "links")

    def create_link(
        self,
        study: str,
        *,
        label: str = "",
        mode: Mode = "live",
        single_use: bool = False,
        quota: int | None = None,
    ) -> NewLinkRow:
        """Create an entry link. Its address is in this row alone.

        Args:
            study: The short name of the study.
            label: The name of the link, if any.
            mode: The mode of the participants who come by it.
            single_use: True admits one participant; leave the quota out then.
            quota: The number of participants that it admits at most; None for no limit.
        """
        body = {"label": label, "mode": mode, "single_use": single_use, "quota": quota}
        return self._create(study, "links", body=body)

    def rehearse(self, study: str, *, n: int = 4, behaviour: str = "honest") -> JobRow:
        """Have bots rehearse the draft, and return the job.

        Args:
            study: The short name of the study.
            n: The number of bots, 1 to 200.
            behaviour: The behaviour of the bots: ``honest``, ``random``, ``speeder``, ``straight-liner``,
                ``drop-out`` or ``two-tab``.
        """
        return self._create(study, "rehearsals", body={"n": n, "behaviour": behaviour})

    def create_rehearsal_link(self, study: str) -> str:
        """Return an address by which the team rehearses the draft, shown once."""
        return self._create(study, "rehearsals", "links")["address"]

    def payments(self, study: str) -> Iterator[PaymentRow]:
        """Yield the payments by the API of the platform."""
        return self._pages(study, "payments")

    def plan_payments(self, study: str, order: Mapping[str, Any]) -> PaymentPlan:
        """Return what an order of payments would do; nothing is stored or paid.

        Args:
            study: The short name of the study.
            order: The fields of the order, such as ``{"approve": True, "bonus_each": "1.50"}``.
        """
        path = build_address("studies", study, "payments") + "?dry_run=true"
        return self._connection.send("POST", path, order).json()

    def pay(self, study: str, order: Mapping[str, Any], *, plan: PaymentPlan) -> PaymentPlan:
        """Carry out an order of payments in a job.

        Args:
            study: The short name of the study.
            order: As in `plan_payments`.
            plan: The plan that it returned; the site refuses the order if it would do something else now.

        Raises:
            Conflict: Something has changed since.
        """
        body = {**order, "payments": plan["payments"], "total": plan["total"]}
        return self._create(study, "payments", body=body)

    def settle_payment(self, study: str, payment: str, *, paid: bool) -> None:
        """Settle an unknown payment.

        Args:
            study: The short name of the study.
            payment: The ID of the payment.
            paid: True if the platform shows that it was paid.
        """
        self._act(study, "payments", payment, "settle", body={"paid": paid})

    def webhooks(self, study: str) -> Iterator[WebhookRow]:
        """Yield the webhooks, without their secrets."""
        return self._pages(study, "webhooks")

    def add_webhook(self, study: str, url: str, *, kinds: Sequence[WebhookKind] = ()) -> NewWebhookRow:
        """Add a webhook. Its signing secret is in this row alone.

        Args:
            study: The short name of the study.
            url: The public address that gets the events.
            kinds: The kinds of events; all without any.
        """
        return self._create(study, "webhooks", body={"url": url, "kinds": [*kinds]})

    def deliveries(self, study: str, webhook: str) -> Iterator[DeliveryRow]:
        """Yield the deliveries of a webhook, oldest first.

        Args:
            study: The short name of the study.
            webhook: The ID of the webhook.
        """
        return self._pages(study, "webhooks", webhook, "deliveries")

    def end_webhook(self, study: str, webhook: str) -> None:
        """Send nothing more to a webhook.

        Args:
            study: The short name of the study.
            webhook: The ID of the webhook.
        """
        self._delete(study, "webhooks", webhook)

    def progress(self, study: str) -> Progress:
        """Return the counts of participants."""
        return self._get(study, "progress")

    def flow(self, study: str) -> Flow:
        """Return the numbers of participants at each step."""
        return self._get(study, "flow")

    def estimates(self, study: str, *, mode: Mode = "live") -> EstimatesSoFar:
        """Return interim estimates with their 95 % confidence intervals.

        Args:
            study: The short name of the study.
            mode: The mode of the participants whose responses count.
        """
        return self._get(study, "estimates", mode=mode)

    def rows(self, study: str, table: TableName) -> Iterator[dict[str, Any]]:
        """Yield the rows of an exported table as the site streams them.

        Args:
            study: The short name of the study.
            table: The name of the table.

        Yields:
            Values by column; the codebook of the bundle describes the columns.
        """
        return self._connection.lines(build_address("studies", study, table))

    def export(
        self,
        study: str,
        path: str | Path,
        *,
        public: bool = False,
        format: BundleFormat = "csv",
        progress: OnProgress | None = None,
        timeout: float | None = None,
    ) -> Path:
        """Export the bundle of a study into a ZIP file, and return its path.

        Args:
            study: The short name of the study.
            path: The file to write.
            public: Leave out what a public bundle must not hold.
            format: The form of the tables.
            progress: Is called with the state of the job.
            timeout: Seconds to wait for the job at most.

        Raises:
            JobFailed: The site could not export it.
            WaitTimeout: The job is not finished in time.
        """
        body = {"public": public, "format": format}
        return self._file_of("exports", study, body, path, progress, timeout)

    def report(
        self,
        study: str,
        path: str | Path,
        *,
        mode: Mode | None = None,
        seed: int = 1,
        resamples: int = 2000,
        progress: OnProgress | None = None,
        timeout: float | None = None,
    ) -> Path:
        """Write the report of a study into a ZIP file, and return its path.

        Args:
            study: The short name of the study.
            path: The file to write.
            mode: The mode of the participants to report on; None lets the site choose.
            seed: The seed of the resampling.
            resamples: The number of resamples for confidence intervals.
            progress: Is called with the state of the job.
            timeout: Seconds to wait for the job at most.

        Raises:
            JobFailed: There is nothing to report on, or another reason.
            WaitTimeout: The job is not finished in time.
        """
        body = {"mode": mode, "seed": seed, "resamples": resamples}
        return self._file_of("reports", study, body, path, progress, timeout)

    def _file_of(
        self,
        kind: str,
        study: str,
        body: Mapping[str, Any],
        path: str | Path,
        progress: OnProgress | None,
        timeout: float | None,
    ) -> Path:
        job: JobRow = self._create(study, kind, body=body)
        self._jobs.wait(job["id"], progress=progress, timeout=timeout)
        return self._jobs.download(job["id"], path)


def read_definition(definition: Definition) -> dict[str, Any]:
    """Return a study definition as a mapping.

    Raises:
        ValueError: The text is not YAML, or not a mapping.
    """
    if isinstance(definition, Mapping):
        return dict(definition)
    text = definition.read_text("utf-8") if isinstance(definition, Path) else definition
    try:
        content = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise ValueError(f"definition is not YAML: {error}") from error
    if not isinstance(content, dict):
        raise ValueError("definition is not a mapping of names to values; give a file as a Path")
    return content


def _parse_draft(response: httpx.Response) -> Draft:
    body = response.json()
    return Draft(
        body["revision"], body["definition"], body["problems"], body["checks"], response.headers["ETag"]
    )
