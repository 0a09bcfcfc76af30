"""Endpoints of studies: draft, life cycle, links, rows, exports."""

import json
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict
from itertools import islice
from typing import IO, Any

from django.conf import settings
from django.db.models import Count
from django.http import HttpResponse, HttpResponseBase, StreamingHttpResponse
from django.urls import reverse
from rest_framework.request import Request

from accounts.actions.audit import record_export, record_reading
from accounts.models import Workspace
from accounts.policy_table import Act
from accounts.rest.bodies import JSON, LINES, read_body, read_query
from accounts.rest.describe import describe_method
from accounts.rest.etags import format_etag, require_match
from accounts.rest.idempotency import run_once_per_key
from accounts.rest.pages import (
    Page,
    PageOf,
    answer,
    answer_page,
    build_next_page_url,
    build_row,
    read_cursor,
    validate_row,
)
from accounts.rest.problems import Refused
from accounts.rest.views import RestView
from accounts.rights.access import require, require_existing
from analysis.participants.estimates import Estimate
from foundation.errors import NotFound
from foundation.frozen_model import FrozenModel
from jobs.rest.endpoints import JobRow, build_job_row
from jobs.tasks import start_job_about
from studyapp.actions import studies as life
from studyapp.actions.drafts import save_draft, start_draft
from studyapp.actions.links import create_link
from studyapp.actions.participants import revoke_links
from studyapp.actions.privacy import delete_participant, withdraw
from studyapp.downloads import BundleOptions, ReportOptions
from studyapp.exports.bundle import build_table_rows
from studyapp.exports.codebook import list_table_columns
from studyapp.exports.documents import build_decision_part, build_flow
from studyapp.exports.estimates import compute_running_estimates
from studyapp.exports.rows import Tally
from studyapp.exports.study_data import load_study_data
from studyapp.exports.writers import format_value, prepare
from studyapp.models import EntryLink, Participant, Study, StudyVersion
from studyapp.queries.access import list_studies
from studyapp.queries.design.drafts import preview_draft, read_current_draft
from studyapp.queries.design.launches import build_checklist
from studyapp.queries.participants.privacy import read_stored_data
from studyapp.queries.participants.table import find_person
from studyapp.queries.running.progress import build_study_progress
from studyapp.queries.running.results import snapshot
from studyapp.rest import shapes
from studyapp.studio import starts
from studyapp.studio.files import read_draft
from touchstone.client import rows as wire


class Studies(RestView):
    """The studies that you see."""

    @describe_method(answers=PageOf[wire.StudyRow], query=shapes.StudyQuery)
    def get(self, request: Request) -> HttpResponseBase:
        """List studies."""
        query = read_query(request, shapes.StudyQuery)
        rows = list_studies(self.user).select_related("workspace").annotate(number=Count("versions"))
        if query.archived is not None:
            rows = rows.filter(archived_at__isnull=not query.archived)
        wanted = {"workspace__slug": query.workspace, "status": query.status}
        rows = rows.filter(**{name: value for name, value in wanted.items() if value is not None})
        return answer_page(request, query, rows, lambda part: [_build_study_row(row) for row in part])

    @describe_method(answers=wire.StudyRow, status=201, takes=shapes.NewStudy, errors=(409,), creates=True)
    @run_once_per_key
    def post(self, request: Request) -> HttpResponse:
        """Create a study with a draft."""
        new = read_body(request, shapes.NewStudy)
        workspace = require_existing(Workspace.objects.filter(slug=new.workspace).first())
        require(self.user, Act.STUDY_EDIT, workspace)
        content = _check_definition(new.definition)
        draft = starts.from_file(content, slug=content["study"])
        study = start_draft(draft=draft, workspace=workspace, by=self.user)
        return answer(_build_study_row(_load_with_version_count(study)), status=201)


class StudyView(RestView):
    """The base of the endpoints of one study."""

    def study(self, slug: str, act: Act) -> Study:
        """Return a study with which the user may do this, or raise 404 or 403."""
        study = require_existing(Study.objects.select_related("workspace").filter(slug=slug).first())
        self.require(act, study)
        return study


class OneStudy(StudyView):
    """One study."""

    @describe_method(answers=wire.StudyRow)
    def get(self, request: Request, slug: str) -> HttpResponse:
        """Return one study."""
        return answer(_build_study_row(_load_with_version_count(self.study(slug, Act.STUDY_SEE))))


class Draft(StudyView):
    """The draft of a study."""

    @describe_method(answers=shapes.DraftState)
    def get(self, request: Request, slug: str) -> HttpResponse:
        """Return the draft of a study with its problems."""
        return _answer_draft(self.study(slug, Act.STUDY_EDIT))

    @describe_method(answers=shapes.DraftState, takes=shapes.NewDraft, errors=(409,), edits=True)
    def put(self, request: Request, slug: str) -> HttpResponse:
        """Replace the draft of a study."""
        study = self.study(slug, Act.STUDY_EDIT)
        now = read_current_draft(study)
        require_match(request, format_etag("draft", now.number))
        content = _check_definition({**read_body(request, shapes.NewDraft).definition, "study": slug})
        save_draft(
            study=study,
            base=now.number,
            draft=starts.from_file(content, slug=slug),
            changed="file",
            by=self.user,
        )
        return _answer_draft(self.study(slug, Act.STUDY_EDIT))


def _build_person_endpoint(act: Callable[..., Any], summary: str) -> type[StudyView]:
    """Return the endpoint of an act on a participant, for a reason."""

    def post(self: StudyView, request: Request, slug: str, person: str) -> HttpResponse:
        study = self.study(slug, Act.STUDY_PERSONAL)
        reason = read_body(request, shapes.Revocation).reason
        act(participant=find_person(study, person).row, reason=reason, by=self.user)
        return HttpResponse(status=204)

    post.__doc__ = summary
    return type(
        "OnPerson", (StudyView,), {"post": describe_method(takes=shapes.Revocation, status=204)(post)}
    )


Revoke = _build_person_endpoint(revoke_links, "End the personal links of a participant.")
Withdraw = _build_person_endpoint(withdraw, "Withdraw a participant as the study promised.")


class PersonFile(StudyView):
    """All that is stored about a participant, for one who asks."""

    @describe_method(answers=shapes.PersonData)
    def get(self, request: Request, slug: str, person: str) -> HttpResponse:
        """Export the data of one person, with the consent text."""
        study = self.study(slug, Act.STUDY_PERSONAL)
        participant = find_person(study, person).row
        if participant.status == Participant.Status.WITHDRAWN:
            raise NotFound(f"{slug}: {person} withdrew; the command export_participant prints their data")
        record_reading(by=self.user, subject=study, page="participant_file")
        return answer(shapes.PersonData(tables=read_stored_data(participant)))


class OnePerson(StudyView):
    """A participant."""

    @describe_method(query=shapes.Revocation, status=204)
    def delete(self, request: Request, slug: str, person: str) -> HttpResponse:
        """Delete a participant with all answers."""
        study = self.study(slug, Act.STUDY_PERSONAL)
        reason = read_query(request, shapes.Revocation).reason
        delete_participant(participant=find_person(study, person).row, reason=reason, by=self.user)
        return HttpResponse(status=204)


class Launch(StudyView):
    """Freezes the draft into a version and opens the study."""

    @describe_method(answers=wire.StudyRow, takes=shapes.LaunchOrder, errors=(409, 422))
    def post(self, request: Request, slug: str) -> HttpResponse:
        """Launch a study."""
        study = self.study(slug, Act.STUDY_EDIT)
        order = (
            read_body(request, shapes.LaunchOrder)
            if int(request.META.get("CONTENT_LENGTH") or 0)
            else shapes.LaunchOrder()
        )
        life.launch_study(study=study, by=self.user, accept=order.accept)
        return answer(_build_study_row(_load_with_version_count(self.study(slug, Act.STUDY_EDIT))))


def _build_life_cycle_view(act: Callable[..., Any], summary: str) -> type[StudyView]:
    """Return the endpoint of an act of a study's life cycle."""

    def post(self: StudyView, request: Request, slug: str) -> HttpResponse:
        act(study=self.study(slug, Act.STUDY_EDIT), by=self.user)
        return answer(_build_study_row(_load_with_version_count(self.study(slug, Act.STUDY_EDIT))))

    post.__doc__ = summary
    return type(
        "LifeCycle", (StudyView,), {"post": describe_method(answers=wire.StudyRow, errors=(409,))(post)}
    )


Pause = _build_life_cycle_view(life.pause_study, "Pause a study.")
Resume = _build_life_cycle_view(life.resume_study, "Resume a study.")
Close = _build_life_cycle_view(life.close_study, "Close a study.")
Reopen = _build_life_cycle_view(life.reopen_study, "Reopen a study.")


class Versions(StudyView):
    """The versions of a study."""

    @describe_method(answers=PageOf[wire.VersionRow], query=Page)
    def get(self, request: Request, slug: str) -> HttpResponseBase:
        """List the versions of a study."""
        study = self.study(slug, Act.STUDY_SEE)
        rows = StudyVersion.objects.filter(study=study).defer("frozen").prefetch_related("decisions__made_by")
        return answer_page(request, read_query(request, Page), rows, _build_version_rows)


class Links(StudyView):
    """The entry links of a study."""

    @describe_method(answers=PageOf[wire.LinkRow], query=Page)
    def get(self, request: Request, slug: str) -> HttpResponseBase:
        """List the entry links of a study."""
        rows = EntryLink.objects.filter(study=self.study(slug, Act.STUDY_EDIT))
        return answer_page(request, read_query(request, Page), rows, _build_link_rows)

    @describe_method(answers=wire.NewLinkRow, status=201, takes=shapes.NewLink, creates=True)
    @run_once_per_key
    def post(self, request: Request, slug: str) -> HttpResponse:
        """Create an entry link."""
        study = self.study(slug, Act.STUDY_EDIT)
        new = read_body(request, shapes.NewLink)
        link, token = create_link(study=study, by=self.user, **new.model_dump())
        address = settings.SITE_URL + reverse("studyapp:join", args=[token])
        [row] = _build_link_rows([link])
        return answer(wire.NewLinkRow(**row, address=address), status=201)


class Progress(StudyView):
    """The counts of participants."""

    @describe_method(answers=wire.Progress)
    def get(self, request: Request, slug: str) -> HttpResponse:
        """Return the progress of a study."""
        study = self.study(slug, Act.STUDY_SEE)
        return answer(
            build_row(
                wire.Progress,
                study,
                study=study.slug,
                modes=[asdict(mode) for mode in build_study_progress(study)],
            )
        )


class Flow(StudyView):
    """The flow of participants."""

    @describe_method(answers=wire.Flow)
    def get(self, request: Request, slug: str) -> HttpResponse:
        """Show the flow of participants through a study."""
        study = self.study(slug, Act.STUDY_SEE)
        return answer(validate_row(wire.Flow, build_flow(load_study_data(study, public=False))))


class Estimates(StudyView):
    """The measures of a running study."""

    @describe_method(answers=wire.EstimatesSoFar, query=shapes.EstimatesQuery)
    def get(self, request: Request, slug: str) -> HttpResponse:
        """Show the interim estimates of a study."""
        study = self.study(slug, Act.STUDY_RESULTS)
        so_far = compute_running_estimates(study, read_query(request, shapes.EstimatesQuery).mode)
        if so_far is None:
            return answer(wire.EstimatesSoFar(version=None, trials=0, excluded=0, results=[]))
        rows = [_estimate(row) for _measure, estimates in so_far.table for row in estimates]
        return answer(
            wire.EstimatesSoFar(
                version=so_far.version, trials=so_far.trials, excluded=so_far.excluded, results=rows
            )
        )


class Rows(StudyView):
    """An exported table of a study, row by row."""

    @describe_method(answers=shapes.Table, query=Page)
    def get(self, request: Request, slug: str, table: str) -> HttpResponseBase:
        """List the rows of an exported table."""
        study = self.study(slug, Act.STUDY_RESULTS)
        query = read_query(request, Page)
        record_reading(by=self.user, subject=study, page=f"API: {table}")
        if LINES in request.headers.get("Accept", ""):
            return StreamingHttpResponse(_write_lines(study, table), content_type=LINES)
        first = read_cursor(query.cursor, least=0, below=sys.maxsize - query.limit)
        with snapshot():
            part = list(islice(_export_rows(study, table), first, first + query.limit + 1))
        following = None
        if len(part) > query.limit:
            following = build_next_page_url(request, first + query.limit)
        body = {"next": following, "results": part[: query.limit]}
        return HttpResponse(json.dumps(body, ensure_ascii=False), content_type=JSON)


class Exports(StudyView):
    """Exports of a study."""

    @describe_method(answers=JobRow, status=202, takes=shapes.NewExport, creates=True)
    @run_once_per_key
    def post(self, request: Request, slug: str) -> HttpResponse:
        """Export a study in a job."""
        study = self.study(slug, Act.STUDY_RESULTS)
        new = read_body(request, shapes.NewExport)
        options = BundleOptions(study=study.pk, **new.model_dump())
        return self._job(request, "export_bundle", study, options)

    def _job(self, request: Request, kind: str, study: Study, options: FrozenModel) -> HttpResponse:
        job = start_job_about(study, kind=kind, by=self.user, options=options)
        record_export(by=self.user, subject=study, kind=kind)
        return answer(build_job_row(request, job), status=202)


class Reports(Exports):
    """Reports of a study."""

    @describe_method(answers=JobRow, status=202, takes=shapes.NewReport, creates=True)
    @run_once_per_key
    def post(self, request: Request, slug: str) -> HttpResponse:
        """Write the report of a study in a job."""
        study = self.study(slug, Act.STUDY_RESULTS)
        new = read_body(request, shapes.NewReport)
        options = ReportOptions(study=study.pk, **new.model_dump())
        return self._job(request, "report", study, options)


def _check_definition(definition: dict[str, Any]) -> dict[str, Any]:
    """Return a definition as a draft keeps it; raise DefinitionError."""
    content = read_draft(json.dumps(definition, ensure_ascii=False), "definition")
    if not isinstance(content.get("study"), str):
        raise Refused(422, "study: is missing")
    return content


def _answer_draft(study: Study) -> HttpResponse:
    now = read_current_draft(study)
    seen = preview_draft(now.draft, study.workspace)
    problems = [
        wire.DraftProblem(field=".".join(str(part) for part in problem.location), detail=problem.message)
        for problem in seen.problems
    ]
    checks = [
        wire.LaunchCheck(check=check.name, state=check.state, detail=check.message)
        for check in build_checklist(study, seen)
    ]
    state = shapes.DraftState(
        revision=now.number, definition=dict(now.draft), problems=problems, checks=checks
    )
    return answer(state, ETag=format_etag("draft", now.number))


def _load_with_version_count(study: Study) -> Study:
    return Study.objects.select_related("workspace").annotate(number=Count("versions")).get(pk=study.pk)


def _build_study_row(row: Study) -> wire.StudyRow:
    return build_row(
        wire.StudyRow,
        row,
        workspace=row.workspace.slug,
        archived=row.archived_at is not None,
        versions=row.number,  # type: ignore[attr-defined]  # annotated
    )


def _estimate(row: Estimate) -> wire.EstimateRow:
    low, high = row.interval or (None, None)
    return build_row(
        wire.EstimateRow,
        row,
        measure=row.measure.key,
        unit=row.measure.unit,
        low=low,
        high=high,
        reason=row.reason or row.interval_reason,
    )


def _build_version_rows(rows: Sequence[StudyVersion]) -> Iterable[wire.VersionRow]:
    return (
        build_row(
            wire.VersionRow,
            row,
            decisions=[build_decision_part(decision, public=False) for decision in row.decisions.all()],
        )
        for row in rows
    )


def _build_link_rows(rows: Sequence[EntryLink]) -> Iterable[wire.LinkRow]:
    return (build_row(wire.LinkRow, row) for row in rows)


def _export_rows(study: Study, table: str) -> Iterator[dict[str, Any]]:
    """Yield the rows of an exported table as JSON values."""
    data = load_study_data(study, public=False)
    columns = list_table_columns(data, table)
    for row in build_table_rows(data, table, Tally(data)):
        yield {
            column.name: _convert_value(prepare(column, row[column.name], public=False)) for column in columns
        }


def _write_lines(study: Study, table: str) -> IO[bytes]:
    """Return a temporary file with the rows of one moment as JSON lines.

    The database is not kept waiting for a slow reader, and an error is raised before the answer begins.
    """
    file = tempfile.TemporaryFile()  # noqa: SIM115  # the response closes it
    try:
        with snapshot():
            for row in _export_rows(study, table):
                file.write(json.dumps(row, ensure_ascii=False).encode() + b"\n")
        file.seek(0)
    except BaseException:
        file.close()
        raise
    return file


def _convert_value(value: Any) -> Any:
    return value if value is None or isinstance(value, bool | int | float | str) else format_value(value)
