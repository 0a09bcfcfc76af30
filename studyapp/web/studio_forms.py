"""Forms of the studio beside the steps: a new study, a file, a scale."""

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from predictions.models import Dataset
from studyapp.definition.scales import SCALES
from studyapp.studio.starts import STARTS

LARGEST = 2_000_000  # bytes of a definition


def _datasets() -> list[tuple[str, str]]:
    names = Dataset.objects.order_by("name").values_list("name", flat=True)
    return [("", "–"), *((name, name) for name in names)]


class StartForm(forms.Form):
    """A new study."""

    title = forms.CharField(max_length=200)
    slug = forms.RegexField(
        r"^[a-z0-9]+(?:[-_][a-z0-9]+)*$",
        max_length=100,
        error_messages={"invalid": _("Use only lower case letters, digits, - and _.")},
    )
    dataset = forms.ChoiceField(choices=_datasets, required=False)
    start = forms.ChoiceField(
        choices=[(name, start.title) for name, start in STARTS.items()], widget=forms.RadioSelect
    )


class ImportForm(forms.Form):
    """A definition in YAML; a valid form sets ``text`` and ``name``."""

    file = forms.FileField()
    text = ""
    name = ""

    def clean_file(self) -> Any:
        """Read the file as text."""
        file = self.cleaned_data["file"]
        if file.size > LARGEST:
            raise forms.ValidationError(_("The file is larger than 2 MB. Choose a study definition."))
        try:
            self.text, self.name = file.read().decode("utf-8"), file.name
        except UnicodeDecodeError:
            raise forms.ValidationError(
                _("The file is not UTF-8 text. Save it as UTF-8 and try again.")
            ) from None
        return file


class ScaleForm(forms.Form):
    """A scale by name, with its items if they have to be entered."""

    scale = forms.ChoiceField(choices=[(name, scale.title) for name, scale in SCALES.items()])
    items = forms.CharField(required=False, max_length=20_000, widget=forms.Textarea)

    def clean_items(self) -> list[str]:
        """Return one item per line."""
        return [line.strip() for line in self.cleaned_data["items"].splitlines() if line.strip()]
