"""Forms of label configurations."""

import json
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from annotation.content.labels import LabelTask, read_label_task
from foundation.translated_messages import translate_error


def read_labels(text: str) -> LabelTask:
    """Read a label configuration of a form.

    Raises:
        ValidationError: Names the line or the field that is wrong.
    """
    try:
        return read_label_task(text)
    except ValueError as error:
        raise forms.ValidationError(translate_error(error)) from error


class LabelsForm(forms.Form):
    """The label configuration of a project, in YAML."""

    labels = forms.CharField(
        label=_("Label configuration"),
        strip=False,
        widget=forms.Textarea(attrs={"rows": 20, "spellcheck": "false"}),
    )

    def clean_labels(self) -> LabelTask:
        """Return the label configuration."""
        return read_labels(self.cleaned_data["labels"])


class _LabelForm(forms.Form):
    """A label of a layer, or of a question about its marks."""

    label = forms.ChoiceField(label=_("Label"))

    def __init__(self, *args: Any, task: LabelTask, **kwargs: Any) -> None:
        # Two such forms are on one page, and each field needs an ID of its own.
        super().__init__(*args, **{"auto_id": f"{type(self).__name__}-%s"} | kwargs)
        self.fields["label"].choices = [  # type: ignore[attr-defined]
            (json.dumps([layer.name, asked.name if asked is not layer else "", name]), f"{title}: {name}")
            for layer in task.layers
            for asked, title in [
                (layer, layer.name),
                *((question, f"{layer.name} – {question.name}") for question in layer.questions),
            ]
            for name in asked.names
        ]

    def values(self) -> dict[str, str]:
        """Return the arguments of the action."""
        layer, question, label = json.loads(self.cleaned_data["label"])
        return {**self.cleaned_data, "layer": layer, "question": question, "label": label}


class RenameLabelForm(_LabelForm):
    """A label and its new name."""

    new_name = forms.CharField(label=_("New name"), max_length=60)


class RemoveLabelForm(_LabelForm):
    """A label to delete, and the one that takes over its uses."""

    into = forms.CharField(
        label=_("Merge into label"),
        required=False,
        max_length=60,
        help_text=_("The name of another label of the same layer. Leave empty to delete an unused label."),
    )
