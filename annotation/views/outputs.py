"""The pages on systems' outputs: which there are, how faithful one is, whether two differ."""

from dataclasses import asdict

from django import forms
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_safe

from annotation.errors import AnnotationError
from annotation.models import Membership, Project, Role
from annotation.queries.outputs import Faithfulness, compare, faithfulness, systems
from annotation.views.access import NOT_THERE, members_only

RESAMPLES = 1_000
AVERAGINGS = {
    "per_example": _("mean over items"),
    "cumulative": _("counts over all items"),
    "per_occurrence": _("mean over steps and images"),
    "negative_iou": _("mean over items, boxes wrong only where they touch nothing"),
    "mean": _("mean"),
}


class CompareForm(forms.Form):
    """Which two systems are compared."""

    first = forms.ChoiceField(label=_("System"))
    second = forms.ChoiceField(label=_("Other system"))

    def __init__(self, *args: object, project: Project, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)  # type: ignore[arg-type]
        choices = [(name := f"{one.system}@{one.revision}", name) for one in systems(project)]
        for field in ("first", "second"):
            self.fields[field].choices = choices  # type: ignore[attr-defined]


@require_safe
@members_only(Role.ADJUDICATOR)
def listed(request: HttpRequest, member: Membership) -> HttpResponse:
    """The systems of a project and, with ?first=…&second=…, a test of two of them."""
    form = CompareForm(request.GET if "first" in request.GET else None, project=member.project)
    context = {"project": member.project, "systems": systems(member.project), "form": form}
    if form.is_bound and form.is_valid():
        first, second = (_named(form.cleaned_data[name]) for name in ("first", "second"))
        try:
            context["comparison"] = compare(member.project, first, second)
        except AnnotationError as error:
            context["problem"] = str(error)
    return render(request, "annotation/outputs.html", context)


@require_safe
@members_only(Role.ADJUDICATOR)
def one(request: HttpRequest, member: Membership, system: str, revision: str) -> HttpResponse:
    """How faithful one system is, module by module, and its worst items."""
    if (system, revision) not in [(each.system, each.revision) for each in systems(member.project)]:
        raise Http404(NOT_THERE)
    context: dict[str, object] = {"project": member.project, "system": system, "revision": revision}
    try:
        found = faithfulness(member.project, system, revision, resamples=RESAMPLES)
    except AnnotationError as error:
        context["problem"] = str(error)
    else:
        context |= {"found": found, "tables": _tables(found)}
    return render(request, "annotation/faithfulness.html", context)


def _tables(found: Faithfulness) -> list[dict[str, object]]:
    tables = [(AVERAGINGS.get(name, name), figures) for name, figures in found.figures.items()]
    tables += [
        (_("the most that the proposals allow, %(how)s") % {"how": AVERAGINGS.get(name, name)}, figures)
        for name, figures in found.upper.items()
        if name == "per_example"
    ]
    return [
        {"title": title, "rows": [{"module": module, **asdict(figure)} for module, figure in figures.items()]}
        for title, figures in tables
    ]


def _named(text: str) -> tuple[str, str]:
    system, _at, revision = text.rpartition("@")
    return system, revision
