"""Pages of imports: upload, preview, apply."""

from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from accounts.models import Workspace
from accounts.policy_table import Act
from accounts.rights.access import require_user
from foundation.errors import Conflict
from foundation.imports.hub_forms import Upload
from foundation.translated_messages import translate_error
from jobs.actions.jobs import create_job
from jobs.actions.previews import apply_preview, discard_preview
from jobs.models import Job
from jobs.queries import find_applying_job
from jobs.tasks import enqueue_job
from predictions.import_repairs import label_of
from predictions.imports import DatasetOptions, PredictionsOptions
from predictions.models import Dataset
from predictions.views.access import dataset_page, import_page, workspaces_page
from predictions.views.forms import UploadDataset, UploadPredictions


@require_http_methods(["GET", "HEAD", "POST"])
@workspaces_page(Act.DATA_MANAGE)
def new(request: HttpRequest, workspaces: list[Workspace]) -> HttpResponse:
    """Upload a file of questions; its preview comes first."""
    form = UploadDataset(workspaces, *_read_form_data(request))
    if request.method == "POST" and form.is_valid():
        wishes = form.cleaned_data
        names = ("name", "format", "licence")
        upload = wishes["upload"]
        options = DatasetOptions(**{name: wishes[name] for name in names}, hub=upload.hub, dry_run=True)
        return _begin_preview(
            request,
            "import_dataset",
            wishes["workspace"],
            options.model_dump(),
            upload,
            wishes["name"],
        )
    return _form(request, form, "data/new.html", {})


@require_http_methods(["GET", "HEAD", "POST"])
@dataset_page(Act.DATA_MANAGE)
def predictions(request: HttpRequest, dataset: Dataset) -> HttpResponse:
    """Upload a file of predictions; its preview comes first."""
    form = UploadPredictions(*_read_form_data(request))
    if request.method == "POST" and form.is_valid():
        system, strict = form.cleaned_data["system"], form.cleaned_data["strict"]
        options = PredictionsOptions(dataset=dataset.pk, system=system, strict=strict, dry_run=True)
        file = form.cleaned_data["file"]
        upload = Upload(file.name or "upload", file.chunks(), hub=False)
        return _begin_preview(
            request,
            "import_predictions",
            dataset.workspace,
            options.model_dump(),
            upload,
            f"{system}, {dataset.name}",
        )
    return _form(request, form, "data/predictions.html", {"dataset": dataset})


@require_safe
@import_page
def show_import(request: HttpRequest, job: Job) -> HttpResponse:
    """Show the progress and the preview of an import, or what it stored."""
    result = job.result or {}
    applied = find_applying_job(job) if job.options.get("dry_run") else None
    repairs = [{**repair, "label": label_of(repair["kind"])} for repair in result.get("repairs", [])]
    return render(
        request,
        "data/import.html",
        {
            "job": job,
            "result": result,
            "repairs": repairs,
            "is_preview": bool(job.options.get("dry_run")),
            "applied": applied,
            "is_discarded": bool(job.options.get("dry_run")) and not job.upload and applied is None,
            "dataset": Dataset.objects.filter(
                pk=result.get("dataset") or job.options.get("dataset") or 0, workspace=job.workspace
            ).first(),
        },
    )


@require_POST
@import_page
def apply(request: HttpRequest, job: Job) -> HttpResponse:
    """Store what a preview showed."""
    try:
        applying, is_new = apply_preview(preview=job, by=require_user(request))
    except Conflict as error:
        messages.error(request, translate_error(error))
        return redirect("data:import", job.pk)
    if is_new:
        enqueue_job(applying)
    return redirect("data:import", applying.pk)


@require_POST
@import_page
def discard(request: HttpRequest, job: Job) -> HttpResponse:
    """Delete the upload of a preview that is not to be applied."""
    try:
        discard_preview(preview=job)
    except Conflict as error:
        messages.error(request, translate_error(error))
        return redirect("data:import", job.pk)
    messages.success(request, gettext("Preview discarded. Nothing was stored."))
    return redirect("data:home")


def _read_form_data(request: HttpRequest) -> tuple[Any, ...]:
    return (request.POST, request.FILES) if request.method == "POST" else ()


def _form(request: HttpRequest, form: forms.Form, template: str, context: dict[str, Any]) -> HttpResponse:
    return render(request, template, {"form": form, **context}, status=422 if form.errors else 200)


def _begin_preview(
    request: HttpRequest,
    kind: str,
    workspace: Workspace,
    options: dict[str, Any],
    upload: Upload,
    subject: str,
) -> HttpResponse:
    job = create_job(
        kind=kind,
        workspace=workspace,
        by=require_user(request),
        subject=subject[:200],
        options=options,
        upload=upload.content,
        upload_name=upload.name,
    )
    enqueue_job(job)
    return redirect("data:import", job.pk)
