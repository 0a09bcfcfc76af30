"""Pages of a manager: new project, settings, guidelines, export, log."""

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from accounts.policy_table import Act
from accounts.rights.access import require_somewhere, require_user
from annotation.actions import projects, review
from annotation.content.label_templates import TEMPLATES
from annotation.content.labels import LabelLayer
from annotation.event_labels import EVENT_LABELS
from annotation.forms.files import ExportForm
from annotation.forms.projects import (
    AnnotatorsPerItemForm,
    GuidelineForm,
    ProjectForm,
    SettingsForm,
    build_template_layers,
)
from annotation.models import Membership, Project
from annotation.queries.annotations import describe_guidelines
from annotation.queries.progress import count_totals
from annotation.queries.records import list_guideline_versions
from annotation.states import ForbiddenTransition
from annotation.views.access import members_only
from annotation.views.tables import AUDIT
from foundation.translated_messages import show_errors
from jobs.queries import list_user_jobs
from jobs.tasks import start_job

SHOWN_EXPORTS = 10


@require_http_methods(["GET", "HEAD", "POST"])
@login_required
def new_project(request: HttpRequest) -> HttpResponse:
    """Create a project in a workspace where the user manages annotation."""
    workspaces = require_somewhere(require_user(request), Act.ANNOTATION_MANAGE)
    form = ProjectForm(request.POST or None, workspaces=workspaces)
    if request.method == "POST" and form.is_valid():
        given = {"workspace": workspaces[0]} | form.cleaned_data
        created = projects.create_project(by=require_user(request), **given)
        messages.success(request, _("Created the project. Next, upload its items."))
        return redirect("annotation:upload_items", created.slug)
    context = {
        "form": form,
        "templates": {
            name: [LabelLayer.model_validate(layer).shown() for layer in build_template_layers(name)]
            for name in TEMPLATES
        },
    }
    return render(request, "annotation/new_project.html", context, status=422 if form.errors else 200)


@require_http_methods(["GET", "HEAD", "POST"])
@members_only(Act.ANNOTATION_MANAGE)
def settings(request: HttpRequest, member: Membership) -> HttpResponse:
    """Change the settings of the project."""
    form = SettingsForm(request.POST or None, instance=Project.objects.get(pk=member.project_id))
    if request.method == "POST" and form.is_valid():
        projects.change_settings(project=member.project, by=require_user(request), **form.cleaned_data)
        messages.success(request, _("Saved the settings."))
        return redirect("annotation:settings", member.project.slug)
    return _settings_page(request, member, form=form)


@require_POST
@members_only(Act.ANNOTATION_MANAGE)
def set_annotators_per_item(request: HttpRequest, member: Membership) -> HttpResponse:
    """Change the number of annotators per item."""
    form = AnnotatorsPerItemForm(request.POST)
    if not form.is_valid():
        return _settings_page(request, member, annotators_form=form)
    changed = projects.set_annotators_per_item(
        project=member.project, annotators=form.cleaned_data["annotators_per_item"], by=require_user(request)
    )
    messages.success(
        request, _("Updated the number of annotators for %(number)d items.") % {"number": changed}
    )
    return redirect("annotation:settings", member.project.slug)


def _settings_page(
    request: HttpRequest,
    member: Membership,
    *,
    form: SettingsForm | None = None,
    annotators_form: AnnotatorsPerItemForm | None = None,
) -> HttpResponse:
    project = member.project
    refused = annotators_form or form
    context = {
        "project": project,
        "form": form or SettingsForm(instance=project),
        "annotators_form": annotators_form
        or AnnotatorsPerItemForm(initial={"annotators_per_item": project.annotators_per_item}),
        "refused": refused,
    }
    return render(
        request, "annotation/settings.html", context, status=422 if refused and refused.errors else 200
    )


@require_http_methods(["GET", "HEAD", "POST"])
@members_only(Act.ANNOTATION_MANAGE)
def write_guideline(request: HttpRequest, member: Membership) -> HttpResponse:
    """Show a module's guideline and write a new version; earlier ones stay."""
    project, module = member.project, request.POST.get("module", request.GET.get("module", ""))
    current = describe_guidelines(project)
    form = GuidelineForm(
        request.POST or None,
        project=project,
        initial={"module": module, "text": current.get(module, {}).get("text", "")},
    )
    choices = dict(form.module_choices)
    if module not in choices:
        raise Http404(
            _("There is no module %(name)s here. There are: %(names)s.")
            % {"name": module, "names": ", ".join(name for name in choices if name)}
        )
    if request.method == "POST" and form.is_valid():
        projects.write_guideline(project=project, by=require_user(request), **form.cleaned_data)
        messages.success(request, _("Saved the guideline."))
        return redirect(f"{request.path}?module={module}")
    context = {
        "project": project,
        "form": form,
        "module": module,
        "modules": [(name, label, current.get(name, {}).get("version")) for name, label in choices.items()],
        "versions": list_guideline_versions(project).filter(module=module).order_by("-version"),
    }
    return render(request, "annotation/guidelines.html", context, status=422 if form.errors else 200)


@require_http_methods(["GET", "HEAD", "POST"])
@members_only(Act.ANNOTATION_MANAGE)
def export(request: HttpRequest, member: Membership) -> HttpResponse:
    """Make a file of the items in a format, and list the files made before."""
    project = member.project
    form = ExportForm(request.POST or None, project=project)
    if request.method == "POST" and form.is_valid():
        start_job(
            kind="export_annotations",
            workspace=project.workspace,
            by=require_user(request),
            subject=project.slug,
            options={"project": project.pk, **form.cleaned_data},
        )
        return redirect("annotation:export", project.slug)
    mine = list_user_jobs(require_user(request)).filter(
        kind="export_annotations", options__project=project.pk
    )
    jobs = list(mine[:SHOWN_EXPORTS])
    context = {
        "project": project,
        "form": form,
        "totals": count_totals(project),
        "jobs": jobs,
        "running": any(job.is_open for job in jobs),
    }
    return render(request, "annotation/export.html", context, status=422 if form.errors else 200)


@require_safe
@members_only(Act.ANNOTATION_MANAGE)
def audit(request: HttpRequest, member: Membership) -> HttpResponse:
    """Show the audit log, newest first."""
    table = AUDIT.of(request.GET)
    rows = member.project.audit.select_related("actor").order_by(*table.order())
    page = Paginator(rows, 100).get_page(table.number)
    acts = [
        (event, EVENT_LABELS.kind_label(event.kind), EVENT_LABELS.detail_labels(event.data)) for event in page
    ]
    context = {
        "project": member.project,
        "acts": acts,
        "table": table,
        "first": table.address() if page.has_previous() else "",
        "next": table.address(page=page.next_page_number()) if page.has_next() else "",
    }
    return render(request, "annotation/audit.html", context)


@require_POST
@members_only(Act.ANNOTATION_MANAGE)
def change_status(request: HttpRequest, member: Membership, act: str) -> HttpResponse:
    """Close or reopen the project."""
    with show_errors(request, ForbiddenTransition):
        review.change_project(project=member.project, act=act, by=require_user(request))
    return redirect("annotation:project", member.project.slug)
