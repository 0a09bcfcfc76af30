"""Forms of model outputs: from a file, or from a served system."""

from collections.abc import Sequence
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from annotation.models import Project
from annotation.parsed_items import parse_task
from annotation.suggestions import Fit, choose_default_fit


class OutputsForm(forms.Form):
    """A file of a system's outputs, and which system made them."""

    file = forms.FileField(
        label=_("File"), max_length=200, help_text=_("JSON lines, one item a line; also as .gz or .zip.")
    )
    system = forms.CharField(label=_("System"), max_length=100)
    revision = forms.CharField(
        label=_("Revision"),
        max_length=100,
        help_text=_("Version of the system, such as a date. Other outputs for the same items need another."),
    )


class ReaderForm(forms.Form):
    """A served reader or language model, and where its spans come from."""

    system = forms.ChoiceField(label=_("System"))
    marks = forms.ChoiceField(label=_("Suggest spans from"), required=False)

    def __init__(self, *args: Any, project: Project, served: Sequence[str], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["system"].choices = [(name, name) for name in served]  # type: ignore[attr-defined]
        default, fits = choose_default_fit(parse_task(project)), _list_fits(project)
        if len(fits) == 1:
            del self.fields["marks"]
            return
        marks = self.fields["marks"]
        marks.choices = [(fit.model_dump_json(), label) for fit, label in fits]  # type: ignore[attr-defined]
        marks.initial = default.model_dump_json()


def _list_fits(project: Project) -> list[tuple[Fit, Any]]:
    """Return the uses of a reader's answers in a project, with their labels."""
    sources = (("answer", _("the answer")), ("facts", _("the facts")))
    task = parse_task(project)
    if task is None:
        return [(Fit(marks=source), name) for source, name in sources]  # type: ignore[arg-type]
    targets = [
        (index, layer.name, label)
        for index, layer in enumerate(task.layers, start=1)
        if layer.type == "spans"
        for label in layer.names
    ]
    fits: list[tuple[Fit, Any]] = [(Fit(), _("nothing: only answers"))]
    return fits + [
        (Fit(marks=source, layer=index, label=label), f"{name} → {layer}: {label}")  # type: ignore[arg-type]
        for source, name in sources
        for index, layer, label in targets
    ]
