"""The form of a new webhook, of whichever app."""

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from foundation.pages.event_labels import Labels


class WebhookForm(forms.Form):
    """The address and the events of a new webhook."""

    url = forms.URLField(
        label=_("Address"),
        max_length=500,
        assume_scheme="https",
        help_text=_("A public https address that accepts POST requests."),
    )
    kinds = forms.MultipleChoiceField(
        label=_("Events"),
        required=False,
        widget=forms.CheckboxSelectMultiple,
        help_text=_("Choose none to receive all events."),
    )

    def __init__(self, kinds: Labels, data: Any = None) -> None:
        super().__init__(data)
        choices = sorted(kinds.items(), key=lambda kind: str(kind[1]))
        self.fields["kinds"].choices = choices  # type: ignore[attr-defined]
