"""Forms of participants, responses and results: filters, acts, downloads."""

from collections.abc import Mapping, Sequence
from typing import Any

from django import forms
from django.utils.text import Truncator
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from foundation.pages.filled_fields import FilledField
from foundation.translated_messages import translate_text
from studyapp.models import Mode, Study
from studyapp.queries.participants.flag_labels import FLAG_LABELS
from studyapp.queries.participants.table import PeopleFilter, list_groups
from studyapp.queries.running.condition_styles import label_conditions, label_groups
from studyapp.queries.running.responses import ResponseFilter

STATE_LABELS = {
    "completed": _("Completed"),
    "active": pgettext_lazy("participant", "Active"),
    "stale": _("Stale"),
    "returned": _("Returned"),
    "screened_out": _("Screened out"),
    "failed_comprehension": _("Failed the comprehension check"),
    "full": _("Study full"),
    "withdrawn": _("Withdrawn"),
}
_ALL = ("", _("All"))
_YES_OR_NO = [_ALL, ("yes", _("Yes")), ("no", _("No"))]
_TRUTH_VALUES = {"yes": True, "no": False}


class PeopleForm(forms.Form):
    """The filters of the table of participants."""

    state = forms.ChoiceField(label=_("State"), required=False, choices=[_ALL, *STATE_LABELS.items()])
    group = forms.ChoiceField(label=_("Condition"), required=False)
    mode = forms.ChoiceField(label=_("Mode"), required=False, choices=[_ALL, *Mode.choices])
    link = forms.TypedChoiceField(label=_("Link"), required=False, coerce=int, empty_value=None)
    flag = forms.ChoiceField(
        label=_("Flag"),
        required=False,
        choices=[_ALL, ("any", _("Any flag")), *FLAG_LABELS.items()],
    )
    excluded = forms.ChoiceField(label=_("Excluded by hand"), required=False, choices=_YES_OR_NO)

    def __init__(self, data: Any, *, study: Study) -> None:
        super().__init__(data)
        labels = label_groups(study)
        self.fields["group"].choices = [  # type: ignore[attr-defined]
            _ALL, *((name, labels.get(name, name)) for name in list_groups(study))
        ]  # fmt: skip
        links = study.links.order_by("pk").values_list("pk", "label")
        self.fields["link"].choices = [  # type: ignore[attr-defined]
            _ALL, *((pk, translate_text(label) or f"#{pk}") for pk, label in links)
        ]  # fmt: skip

    def build_filter(self) -> PeopleFilter:
        """Return the filter; an unknown value lets all through."""
        self.full_clean()
        given = self.cleaned_data
        names = ("state", "group", "mode", "link", "flag")
        return PeopleFilter(
            **{name: given[name] for name in names if given.get(name)},
            excluded=_TRUTH_VALUES.get(given.get("excluded", "")),
        )


class ResponsesForm(forms.Form):
    """The filters of the table of responses."""

    condition = forms.ChoiceField(label=_("Condition"), required=False)
    mode = forms.ChoiceField(label=_("Mode"), required=False, choices=[_ALL, *Mode.choices])
    state = forms.ChoiceField(
        label=_("State of the participant"),
        required=False,
        choices=[_ALL, *((name, label) for name, label in STATE_LABELS.items() if name != "withdrawn")],
    )
    item = forms.ChoiceField(label=_("Item"), required=False)
    participant = forms.CharField(label=_("Participant"), required=False, max_length=40)
    answered = forms.ChoiceField(label=_("Submitted"), required=False, choices=_YES_OR_NO)
    excluded = forms.ChoiceField(label=_("Excluded"), required=False, choices=_YES_OR_NO)
    flag = forms.ChoiceField(
        label=_("Flag"),
        required=False,
        choices=[_ALL, ("any", _("Any flag")), *FLAG_LABELS.items()],
    )
    column = forms.MultipleChoiceField(
        label=_("Columns"), required=False, widget=forms.CheckboxSelectMultiple
    )

    def __init__(self, data: Any, *, study: Study, columns: Sequence[str], items: Mapping[str, str]) -> None:
        super().__init__(data)
        questions = [(name, Truncator(question).chars(80)) for name, question in items.items()]
        # An unknown ID is a choice, too: it lets nothing through.
        unknown = [(given, given) for given in [data.get("item", "")] if given and given not in items]
        self.fields["item"].choices = [_ALL, *questions, *unknown]  # type: ignore[attr-defined]
        conditions = [_ALL, *label_conditions(study).items()]
        self.fields["condition"].choices = conditions  # type: ignore[attr-defined]
        self.fields["column"].choices = list(zip(columns, columns, strict=True))  # type: ignore[attr-defined]

    def build_filter(self) -> ResponseFilter:
        """Return the filter; an unknown value lets all through."""
        self.full_clean()
        given = self.cleaned_data
        people = {name: given[name] for name in ("mode", "state", "flag") if given.get(name)}
        own = {name: given[name] for name in ("condition", "item", "participant") if given.get(name)}
        return ResponseFilter(
            people=PeopleFilter(**people),
            **own,
            answered=_TRUTH_VALUES.get(given.get("answered", "")),
            excluded=_TRUTH_VALUES.get(given.get("excluded", "")),
        )


class ReasonForm(forms.Form):
    """The reason for an act on a participant, and the consent to what it does."""

    reason = FilledField(max_length=200, label=_("Reason (no names or IDs)"))
    sure = forms.BooleanField(
        label=_("I understand what this does"),
        error_messages={"required": _("Please confirm that you understand what this does.")},
    )


_VARIANTS = [("full", _("Full: for your own analysis")), ("public", _("Public: for publication"))]


class ReportForm(forms.Form):
    """The options of a report."""

    variant = forms.ChoiceField(label=_("Variant"), choices=_VARIANTS, required=False)
    version = forms.TypedChoiceField(label=_("Version"), required=False, coerce=int, empty_value=None)
    mode = forms.ChoiceField(
        label=_("Participants"), required=False, choices=[("", _("The first with data")), *Mode.choices]
    )
    resamples = forms.IntegerField(
        label=_("Bootstrap replicates"), min_value=0, max_value=20_000, initial=2000
    )
    seed = forms.IntegerField(label=_("Seed"), min_value=0, max_value=2**31 - 1, initial=1)

    def __init__(self, data: Any = None, *, study: Study) -> None:
        super().__init__(data)
        numbers = study.versions.order_by("-number").values_list("number", flat=True)
        newest = ("", _("The newest with data"))
        self.fields["version"].choices = [newest, *((n, str(n)) for n in numbers)]  # type: ignore[attr-defined]


class BundleForm(forms.Form):
    """The variant and the format of a bundle."""

    variant = forms.ChoiceField(label=_("Variant"), choices=_VARIANTS)
    format = forms.ChoiceField(
        label=_("Format"),
        choices=[
            ("csv", "CSV"),
            ("parquet", "Parquet"),
            ("jsonl", "JSON Lines"),
            ("psych-ds", _("CSV and Psych-DS")),
        ],
    )
