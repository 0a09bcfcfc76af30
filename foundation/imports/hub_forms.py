"""Fields of uploads that name a dataset of the Hugging Face hub."""

from collections.abc import Iterable
from typing import Any, NamedTuple

from django import forms
from django.conf import settings
from django.utils.translation import gettext_lazy as _
from pydantic import ValidationError

from foundation.imports.hub_datasets import HubDataset

FIELDS = ("hub_name", "hub_subset", "hub_split")


class Upload(NamedTuple):
    """A file, or the name of a dataset as JSON, that a job reads."""

    name: str
    content: Iterable[bytes]
    hub: bool


class HubFields(forms.Form):
    """The fields, on a form with a ``file``, if the site may fetch datasets.

    The cleaned data have the ``upload``.
    """

    hub_name = forms.CharField(
        label=_("Dataset of the Hugging Face hub"),
        required=False,
        max_length=200,
        help_text=_("Instead of a file: its name, such as owner/name."),
    )
    hub_subset = forms.CharField(
        label=_("Subset"), required=False, max_length=200, help_text=_("If it has several.")
    )
    hub_split = forms.CharField(
        label=_("Split"), required=False, max_length=200, help_text=_("If it has several, such as test.")
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if settings.HUB_URL:
            self.fields["file"].required = False
            return
        self.leave_out_hub()

    def leave_out_hub(self) -> None:
        """Take files alone."""
        self.fields["file"].required = True
        for name in FIELDS:
            self.fields.pop(name, None)

    def hub_fields(self) -> list[forms.BoundField]:
        """Return the fields as templates show them."""
        return [self[name] for name in FIELDS]

    def clean(self) -> dict[str, Any]:
        """Return the fields with the ``upload``, which is one of the two."""
        given = super().clean() or self.cleaned_data
        file, name = given.get("file"), given.get("hub_name")
        if "file" in self.errors or "hub_name" in self.errors:
            return given
        if bool(file) == bool(name):
            raise forms.ValidationError(_("Choose a file, or name a dataset, but not both."))
        if file:
            return given | {"upload": Upload(file.name or "upload", file.chunks(), hub=False)}
        name = str(name)
        try:
            wanted = HubDataset(name=name, subset=given["hub_subset"], split=given["hub_split"])
        except (KeyError, ValidationError):
            text = _("Names have letters, digits, points, hyphens and underscores, such as owner/name.")
            self.add_error("hub_name", forms.ValidationError(text))
            return given
        content = wanted.model_dump_json().encode()
        return given | {"upload": Upload(f"{name.replace('/', '-')}.json", [content], hub=True)}
