"""Forms of API tokens."""

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy

from accounts.models import Scope


def _days(*choices: int) -> list[tuple[int, Any]]:
    return [(days, gettext_lazy("%(days)s days") % {"days": days}) for days in choices]


class TokenForm(forms.Form):
    """A new API token."""

    name = forms.CharField(
        label=gettext_lazy("Name"),
        max_length=100,
        help_text=gettext_lazy("What uses the token, for example “nightly export”."),
    )
    scope = forms.ChoiceField(label=gettext_lazy("Scope"), choices=Scope.choices)
    days = forms.TypedChoiceField(
        label=gettext_lazy("Valid for"), coerce=int, choices=_days(7, 30, 90, 365), initial=90
    )
