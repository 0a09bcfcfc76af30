"""Results of a study: the first screen of the report, reports, downloads."""

import zipfile
from pathlib import PurePosixPath
from typing import Any

from csp.constants import NONE
from csp.decorators import csp_replace
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from accounts.actions.audit import record_export
from accounts.policy_table import Act
from accounts.rights.access import NOT_THERE, require_existing, require_user
from analysis.report.page import SORTING_HASH
from foundation.errors import TouchstoneError
from foundation.frozen_model import FrozenModel
from foundation.pages import charts
from foundation.translated_messages import show_errors
from jobs.models import Job
from jobs.queries import list_user_jobs
from jobs.tasks import start_job_about
from studyapp.actions.reports import build_report_path, delete_report
from studyapp.downloads import BundleOptions, ReportOptions
from studyapp.exports.codebook import build_codebook, build_codebook_page
from studyapp.exports.registration import build_preregistration
from studyapp.exports.report_summary import Summary, measure_label, measure_unit
from studyapp.exports.study_data import load_study_data
from studyapp.models import Report, Study
from studyapp.queries.running.condition_styles import label_conditions, style_conditions
from studyapp.queries.running.results import read_data_state
from studyapp.views.access import study_page
from studyapp.web.forms.results import BundleForm, ReportForm

KINDS = ("report", "export_bundle", "export_responses")
JOBS_SHOWN = 5
FACTORS = {"share": 100}  # shares are shown in percent
# A report may load nothing and send nothing, whatever is in the data. The only script that runs is ours that
# sorts tables, named by its hash; without `allow-same-origin` it could not read the site either.
_SANDBOX = {
    "default-src": [NONE],
    "script-src": [f"'{SORTING_HASH}'"],
    "style-src": ["'unsafe-inline'"],
    "img-src": ["data:"],
    "base-uri": [NONE],
    "form-action": [NONE],
    "frame-ancestors": [NONE],
    "sandbox": ["allow-downloads", "allow-scripts"],
}


@require_safe
@study_page(Act.STUDY_RESULTS)
def results(request: HttpRequest, study: Study) -> HttpResponse:
    """Show the first screen of the newest report, and the downloads."""
    return _page(request, study)


@require_POST
@study_page(Act.STUDY_RESULTS)
def make_report(request: HttpRequest, study: Study) -> HttpResponse:
    """Start a job that makes a report with the options of the form."""
    form = ReportForm(request.POST, study=study)
    if not form.is_valid():
        return _page(request, study, report=form, status=422)
    given = form.cleaned_data
    options = ReportOptions(
        study=study.pk,
        public=given["variant"] == "public",
        version=given["version"],
        mode=given["mode"] or None,
        seed=given["seed"],
        resamples=given["resamples"],
    )
    return start_job(request, study, "report", options)


@require_POST
@study_page(Act.STUDY_RESULTS)
def export_bundle(request: HttpRequest, study: Study) -> HttpResponse:
    """Start a job that writes the export bundle."""
    form = BundleForm(request.POST)
    if not form.is_valid():
        return _page(request, study, bundle=form, status=422)
    public = form.cleaned_data["variant"] == "public"
    options = BundleOptions(study=study.pk, public=public, format=form.cleaned_data["format"])
    return start_job(request, study, "export_bundle", options)


@csp_replace(_SANDBOX)
@require_safe
@study_page(Act.STUDY_RESULTS, reads="report")
def report(request: HttpRequest, study: Study, pk: int, name: str) -> HttpResponse:
    """Return a file of a kept report; its page opens, all else is downloaded."""
    row = _report(study, pk)
    try:
        with zipfile.ZipFile(build_report_path(row)) as archive:
            folder = f"{study.slug}-report"
            content = archive.read(f"{folder}/{name}")
    except (KeyError, FileNotFoundError) as error:
        raise Http404(str(NOT_THERE)) from error
    is_page = name == "report.html"
    response = HttpResponse(
        content, content_type="text/html; charset=utf-8" if is_page else "application/octet-stream"
    )
    if not is_page:
        response["Content-Disposition"] = f'attachment; filename="{PurePosixPath(name).name}"'
    return response


@require_POST
@study_page(Act.STUDY_RESULTS)
def download_report(request: HttpRequest, study: Study, pk: int) -> HttpResponse:
    """Return a kept report with its tables and figures as a zip file."""
    path = build_report_path(_report(study, pk))
    if not path.is_file():
        raise Http404(str(NOT_THERE))
    record_export(by=require_user(request), subject=study, kind="report")
    return build_attachment(path.read_bytes(), f"{study.slug}-report.zip", "application/zip")


@require_POST
@study_page(Act.STUDY_EDIT)
def remove_report(request: HttpRequest, study: Study, pk: int) -> HttpResponse:
    """Delete a kept report."""
    delete_report(report=_report(study, pk), by=require_user(request))
    messages.success(request, _("Report deleted."))
    return redirect("studyapp:staff_results", study.slug)


@require_POST
@study_page(Act.STUDY_RESULTS)
def download_codebook(request: HttpRequest, study: Study) -> HttpResponse:
    """Return the codebook of the bundle."""
    return _text(
        request,
        study,
        "codebook",
        lambda: build_codebook_page(build_codebook(load_study_data(study, public=False))),
    )


@require_POST
@study_page(Act.STUDY_RESULTS)
def download_preregistration(request: HttpRequest, study: Study) -> HttpResponse:
    """Return the pre-registration of the newest version."""
    return _text(request, study, "preregistration", lambda: build_preregistration(study))


def start_job(request: HttpRequest, study: Study, kind: str, options: FrozenModel) -> HttpResponse:
    """Start a job about a study, and go to its page."""
    user = require_user(request)
    if kind in KINDS:
        record_export(by=user, subject=study, kind=kind)
    job = start_job_about(study, kind=kind, by=user, options=options)
    return redirect("jobs:job", job.pk)


def _page(
    request: HttpRequest,
    study: Study,
    *,
    report: ReportForm | None = None,
    bundle: BundleForm | None = None,
    status: int = 200,
) -> HttpResponse:
    reports = list(study.reports.select_related("version", "job__created_by").defer("version__frozen"))
    newest = reports[0] if reports else None
    context = {
        "study": study,
        "is_launched": study.versions.exists(),
        "reports": reports,
        "newest": newest,
        "first": _build_first_screen(study, newest) if newest else None,
        "is_old": newest is not None and newest.data != read_data_state(study, newest.mode),
        **_jobs(request, study),
        "report_form": report or ReportForm(study=study),
        "bundle_form": bundle or BundleForm(),
        "refused": report or bundle,
    }
    return render(request, "studyapp/staff/results.html", context, status=status)


def _jobs(request: HttpRequest, study: Study) -> dict[str, list[Job]]:
    """Return the newest jobs of the person: those to watch, and files."""
    rows = list_user_jobs(require_user(request)).filter(
        workspace=study.workspace, subject=study.slug, kind__in=KINDS
    )
    newest = list(rows[:JOBS_SHOWN])
    return {
        "jobs": [job for job in newest if job.is_open or job.status == Job.Status.FAILED],
        "files": [job for job in newest if job.file and job.kind != "report"],
    }


def _build_first_screen(study: Study, report: Report) -> dict[str, Any]:
    """Return the headline, the key chart and the rank table of a report."""
    summary = Summary.model_validate(report.summary)
    labels, styles = label_conditions(study), style_conditions(study)
    factor = FACTORS.get(measure_unit(summary.measure), 1)

    def scale_value(value: float | None) -> float | None:
        return None if value is None else value * factor

    shapes, zero = charts.build_intervals(
        [
            (
                labels.get(row.condition, row.condition),
                styles.get(row.condition, ""),
                row.value * factor,
                scale_value(row.low),
                scale_value(row.high),
            )
            for row in summary.estimates
        ]
    )
    return {
        "summary": summary,
        "measure": _(measure_label(summary.measure)),
        "is_share": factor == 100,
        "headline": _difference(summary, labels, factor),
        "differences": [
            {
                "first": labels.get(difference.first, difference.first),
                "second": labels.get(difference.second, difference.second),
                **{name: getattr(difference, name) * factor for name in ("value", "low", "high")},
                "p": difference.p,
            }
            for difference in summary.differences
        ],
        "chart": shapes,
        "zero": zero,
        "ranks": [(_(measure_label(row.measure)), row.shown) for row in summary.ranks],
    }


def _difference(summary: Summary, labels: dict[str, str], factor: float) -> dict[str, Any] | None:
    """Return the difference of the headline, turned to be positive."""
    clearest = summary.clearest
    if clearest is None:
        return None
    first, second = labels.get(clearest.first, clearest.first), labels.get(clearest.second, clearest.second)
    value, low, high = (factor * number for number in (clearest.value, clearest.low, clearest.high))
    if value < 0:
        first, second, value, low, high = second, first, -value, -high, -low
    return {
        "first": first, "second": second, "value": value, "low": low, "high": high,
        "is_clear": clearest.is_clear, "pairs": len(summary.differences), "clear": summary.clear,
    }  # fmt: skip


def _report(study: Study, pk: int) -> Report:
    return require_existing(study.reports.select_related("version").filter(pk=pk).first())


def _text(request: HttpRequest, study: Study, kind: str, write: Any) -> HttpResponse:
    with show_errors(request, TouchstoneError):
        text = write()
        record_export(by=require_user(request), subject=study, kind=kind)
        return build_attachment(text, f"{study.slug}-{kind}.md", "text/markdown; charset=utf-8")
    return redirect("studyapp:staff_results", study.slug)


def build_attachment(content: str | bytes, name: str, kind: str) -> HttpResponse:
    """Return a file as a download."""
    response = HttpResponse(content, content_type=kind)
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    return response
