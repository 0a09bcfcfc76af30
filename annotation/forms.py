"""The forms of managers and reviewers."""

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from accounts.models import User
from analysis.programs import MODULES
from annotation.models import Guideline, Item, Membership, Project, Role


class ProjectForm(forms.ModelForm):
    """A new project."""

    class Meta:
        model = Project
        fields = ["title", "slug", "kind", "annotators_per_item"]
        labels = {
            "title": _("Title"),
            "slug": _("Name in addresses and commands"),
            "kind": _("What is marked"),
            "annotators_per_item": _("Annotators per item"),
        }


class SettingsForm(forms.ModelForm):
    """What a manager can change while a project runs."""

    class Meta:
        model = Project
        fields = [
            "title", "reservation_minutes", "show_answer", "show_predictions", "qualification_score",
            "hidden_gold_every",
        ]  # fmt: skip
        labels = {
            "title": _("Title"),
            "reservation_minutes": _("Minutes an item stays reserved after the last edit"),
            "show_answer": _("Show the label or answer, and say when the program contradicts it"),
            "show_predictions": _("Show what systems put out"),
            "qualification_score": _("Mean F1 on the qualification items to qualify, 0 to 1"),
            "hidden_gold_every": _("One item in so many is hidden gold"),
        }
        help_texts = {
            "qualification_score": _("Empty: everybody is handed items at once."),
            "hidden_gold_every": _("Empty: none."),
        }


class AnnotatorsPerItemForm(forms.Form):
    """How many annotators each item shall have."""

    annotators_per_item = forms.IntegerField(label=_("Annotators per item"), min_value=1, max_value=20)


class MemberForm(forms.Form):
    """A person and what they may do."""

    username = forms.CharField(label=_("User name"), max_length=150)
    role = forms.ChoiceField(label=_("Role"), choices=Role.choices)
    active = forms.BooleanField(label=_("Is a member"), required=False, initial=True)

    def clean_username(self) -> User:
        name = self.cleaned_data["username"]
        user = User.objects.filter(username=name).first()
        if user is None:
            raise forms.ValidationError(
                _("There is no user %(name)s. Staff make users under “Tables”."), params={"name": name}
            )
        return user


class AssignForm(forms.Form):
    """An item that is reserved for a certain member."""

    item = forms.CharField(label=_("Item"), max_length=200)
    username = forms.CharField(label=_("User name"), max_length=150)

    def __init__(self, *args: Any, project: Project, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._project = project

    def clean_item(self) -> Item:
        name = self.cleaned_data["item"]
        found = self._project.items.filter(external_id=name).first()
        if found is None:
            raise forms.ValidationError(_("There is no item %(name)s."), params={"name": name})
        return found

    def clean_username(self) -> Membership:
        name = self.cleaned_data["username"]
        members = self._project.memberships.select_related("user", "project")
        found = members.filter(user__username=name, active=True).first()
        if found is None:
            raise forms.ValidationError(_("%(name)s is no member."), params={"name": name})
        return found


class GuidelineForm(forms.ModelForm):
    """A new version of a guideline."""

    module = forms.ChoiceField(label=_("Module"), required=False)

    class Meta:
        model = Guideline
        fields = ["module", "text"]
        labels = {"text": _("What annotators are asked to do")}

    def __init__(self, *args: Any, project: Project, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        asked = [name for name, module in MODULES[project.kind].items() if module.role != "compute"]  # type: ignore[index]
        self.fields["module"].choices = [("", _("The whole project")), *((name, name) for name in asked)]  # type: ignore[attr-defined]


class DecisionForm(forms.Form):
    """Which work a decision is about, as the person saw it: others hand in and take back meanwhile."""

    annotation = forms.IntegerField(min_value=0, max_value=2**63 - 1)
    revision = forms.IntegerField(min_value=0)
    letter = forms.CharField(max_length=10)


class ReturnForm(DecisionForm):
    """Why a work goes back."""

    text = forms.CharField(label=_("What is to be changed"), widget=forms.Textarea(attrs={"rows": 3}))
    node = forms.IntegerField(required=False, min_value=0, widget=forms.HiddenInput)
