"""Forms of a reviewer's decisions."""

from django import forms
from django.utils.translation import gettext_lazy as _


class DecisionForm(forms.Form):
    """The annotation and revision that a decision is about.

    They are as the person saw them: annotators submit and reopen meanwhile.
    """

    annotation = forms.IntegerField(min_value=0, max_value=2**63 - 1)
    revision = forms.IntegerField(min_value=0)
    letter = forms.CharField(max_length=10)
    version = forms.IntegerField(required=False, min_value=0)  # of the gold; 0 without gold


class ReturnForm(DecisionForm):
    """A decision to request changes, with the reason."""

    text = forms.CharField(label=_("Requested changes"), widget=forms.Textarea(attrs={"rows": 3}))
    node = forms.IntegerField(required=False, min_value=0, widget=forms.HiddenInput)
