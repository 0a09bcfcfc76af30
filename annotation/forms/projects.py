"""Forms of projects: a new one, its settings and its guideline."""

from collections.abc import Sequence
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext

from accounts.models import Workspace
from analysis.programs import MODULES
from annotation.content.label_templates import TEMPLATES
from annotation.content.labels import LabelTask
from annotation.forms.labels import read_labels
from annotation.models import Guideline, Project
from annotation.parsed_items import get_kind, parse_task
from foundation.pages.filled_fields import FilledField

PROGRAM, YAML = "program", "yaml"
TASKS = {
    PROGRAM: _("Programs: steps over images or passages"),
    "ner": _("Named entities"),
    "aspects": _("Opinions on aspects of a text"),
    "classification": _("Classification"),
    "rationale": _("Class with rationale"),
    "boxes": _("Boxes in images"),
    "outlines": _("Outlines and key points in images"),
    "evidence": _("Evidence for a claim"),
    "relations": _("Relations between entities"),
    "counterfactual": _("Review of counterfactual texts"),
    "preference": _("Preference between two answers"),
    YAML: _("Label configuration in YAML"),
}


def build_template_layers(name: str) -> list[dict[str, Any]]:
    """Return the layers of a template, named in the language of the page."""
    return [_translate_layer(layer) for layer in TEMPLATES[name]]


def _translate_layer(value: Any) -> Any:
    """Translate the names, hints and labels of a layer."""
    if isinstance(value, dict):
        return {key: part if key == "type" else _translate_layer(part) for key, part in value.items()}
    if isinstance(value, list):
        return [_translate_layer(part) for part in value]
    return pgettext("label template", value) if isinstance(value, str) else value


class ProjectForm(forms.ModelForm):
    """A new project, of programs or with a label configuration."""

    task = forms.ChoiceField(label=_("Task"), choices=list(TASKS.items()), initial=PROGRAM, required=False)
    labels = forms.CharField(
        label=_("Label configuration"),
        required=False,
        strip=False,
        widget=forms.Textarea(attrs={"rows": 12, "spellcheck": "false"}),
    )

    class Meta:
        """Fields and labels."""

        model = Project
        fields = ["workspace", "title", "slug", "annotators_per_item", "task", "kind"]
        field_classes = {"title": FilledField}
        help_texts = {
            "slug": _("For addresses and commands. You cannot change it later. Letters, digits, - and _.")
        }
        widgets = {"slug": forms.TextInput(attrs={"data-follows": "title"})}
        labels = {
            "workspace": _("Workspace"),
            "title": _("Title"),
            "slug": _("Short name"),
            "kind": _("Objects to mark"),
            "annotators_per_item": _("Annotators per item"),
        }

    def __init__(self, *args: Any, workspaces: Sequence[Workspace], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if len(workspaces) == 1:
            del self.fields["workspace"]
        else:
            mine = Workspace.objects.filter(pk__in=[workspace.pk for workspace in workspaces]).order_by(
                "name", "pk"
            )
            self.fields["workspace"].queryset = mine  # type: ignore[attr-defined]

    def clean_labels(self) -> LabelTask | None:
        """Return the label configuration of the task; None for programs."""
        task, text = self.cleaned_data.get("task") or PROGRAM, self.cleaned_data["labels"]
        if task == PROGRAM:
            return None
        if not text.strip() and task in TEMPLATES:
            return LabelTask.model_validate({"layers": build_template_layers(task)})
        return read_labels(text)

    def clean(self) -> dict[str, Any]:
        """Return the fields; marks decide if the items are texts or images."""
        given = super().clean() or self.cleaned_data
        given.pop("task", None)
        if (labels := given.get("labels")) is not None and labels.kind is not None:
            given["kind"] = labels.kind
        return given

    def _post_clean(self) -> None:
        # The model holds the configuration as JSON, which `create_project` makes of it.
        labels = self.cleaned_data.pop("labels", None)
        super()._post_clean()  # type: ignore[misc]
        if "labels" not in self.errors:
            self.cleaned_data["labels"] = labels


class SettingsForm(forms.ModelForm):
    """Settings that a manager can change while a project runs."""

    class Meta:
        """Fields, labels and help texts."""

        model = Project
        fields = [
            "title", "reservation_minutes", "show_answer", "show_predictions", "qualification_score",
            "hidden_gold_every", "due_on",
        ]  # fmt: skip
        field_classes = {"title": FilledField}
        labels = {
            "title": _("Title"),
            "reservation_minutes": _("Reservation timeout (minutes)"),
            "show_answer": _("Show expected answer"),
            "show_predictions": _("Show model outputs"),
            "qualification_score": _("Qualification score (mean F1)"),
            "hidden_gold_every": _("Items per hidden gold item"),
            "due_on": _("Due date"),
        }
        widgets = {"due_on": forms.DateInput(format="%Y-%m-%d", attrs={"type": "date"})}
        help_texts = {
            "qualification_score": _("From 0 to 1. Leave empty to skip qualification."),
            "hidden_gold_every": _("Leave empty to use no hidden gold items."),
        }


class AnnotatorsPerItemForm(forms.Form):
    """The number of annotators per item."""

    annotators_per_item = forms.IntegerField(label=_("Annotators per item"), min_value=1, max_value=20)


class GuidelineForm(forms.ModelForm):
    """A new version of a guideline."""

    module = forms.ChoiceField(label=_("Module"), required=False)

    class Meta:
        """Fields and labels."""

        model = Guideline
        fields = ["module", "text"]
        field_classes = {"text": FilledField}
        labels = {"text": _("Instructions for annotators")}

    def __init__(self, *args: Any, project: Project, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        task = parse_task(project)
        asked = (
            [name for name, module in MODULES[get_kind(project)].items() if module.role != "compute"]
            if task is None
            else [layer.name for layer in task.layers]
        )
        self.module_choices = [("", _("Whole project")), *((name, name) for name in asked)]
        self.fields["module"].choices = self.module_choices  # type: ignore[attr-defined]
