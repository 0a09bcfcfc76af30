"""Forms of the staff pages that run studies and judge answers."""

from django import forms
from django.utils.translation import gettext_lazy as _

from studyapp.models import JudgedAnswer

VERDICTS = [("yes", _("Correct")), ("no", _("Not correct"))]


class VerdictForm(forms.Form):
    """What a judge says of one answer."""

    answer = forms.IntegerField(widget=forms.HiddenInput)
    verdict = forms.ChoiceField(choices=VERDICTS, widget=forms.RadioSelect)
    note = forms.CharField(max_length=2000, required=False, widget=forms.Textarea(attrs={"rows": 2}))

    @property
    def is_correct(self) -> bool:
        return bool(self.cleaned_data["verdict"] == "yes")


class SettleForm(forms.Form):
    """How a disagreement is settled."""

    verdict = forms.ChoiceField(choices=VERDICTS, widget=forms.RadioSelect)
    how = forms.ChoiceField(
        choices=[
            (JudgedAnswer.How.THIRD_JUDGE, _("I am the third judge")),
            (JudgedAnswer.How.DISCUSSION, _("The two judges have talked")),
        ],
        widget=forms.RadioSelect,
    )
    note = forms.CharField(max_length=2000, widget=forms.Textarea(attrs={"rows": 2}))

    @property
    def is_correct(self) -> bool:
        return bool(self.cleaned_data["verdict"] == "yes")
