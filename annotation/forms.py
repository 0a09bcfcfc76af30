"""Forms of managers and reviewers."""

from collections.abc import Sequence
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from accounts.models import User, Workspace
from accounts.policy import Act
from analysis.programs import MODULES
from annotation.models import Guideline, Item, Membership, Project, Role
from annotation.policies import may
from annotation.queries.members import member_named


class ProjectForm(forms.ModelForm):
    """A new project."""

    class Meta:
        """Fields and labels."""

        model = Project
        fields = ["workspace", "title", "slug", "kind", "annotators_per_item"]
        labels = {
            "workspace": _("Workspace"),
            "title": _("Title"),
            "slug": _("Project ID (URL)"),
            "kind": _("Objects to mark"),
            "annotators_per_item": _("Annotators per item"),
        }

    def __init__(self, *args: Any, workspaces: Sequence[Workspace], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if len(workspaces) == 1:
            del self.fields["workspace"]
        else:
            mine = Workspace.objects.filter(pk__in=[each.pk for each in workspaces]).order_by("name", "pk")
            self.fields["workspace"].queryset = mine  # type: ignore[attr-defined]


class SettingsForm(forms.ModelForm):
    """Settings that a manager can change while a project runs."""

    class Meta:
        """Fields, labels and help texts."""

        model = Project
        fields = [
            "title", "reservation_minutes", "show_answer", "show_predictions", "qualification_score",
            "hidden_gold_every",
        ]  # fmt: skip
        labels = {
            "title": _("Title"),
            "reservation_minutes": _("Reservation timeout (minutes)"),
            "show_answer": _("Show expected answer"),
            "show_predictions": _("Show model outputs"),
            "qualification_score": _("Qualification score (mean F1)"),
            "hidden_gold_every": _("Items per hidden gold item"),
        }
        help_texts = {
            "qualification_score": _("From 0 to 1. Leave empty to skip qualification."),
            "hidden_gold_every": _("Leave empty to use no hidden gold items."),
        }


class AnnotatorsPerItemForm(forms.Form):
    """The number of annotators per item."""

    annotators_per_item = forms.IntegerField(label=_("Annotators per item"), min_value=1, max_value=20)


class MemberForm(forms.Form):
    """A person, their role, and their membership."""

    username = forms.CharField(label=_("Username"), max_length=150)
    role = forms.ChoiceField(label=_("Role"), choices=Role.choices)
    active = forms.BooleanField(label=_("Active member"), required=False, initial=True)

    def clean_username(self) -> User:
        """Return the user of that name."""
        name = self.cleaned_data["username"]
        user = User.objects.filter(username=name).first()
        if user is None:
            raise forms.ValidationError(
                _("User %(name)s does not exist. Ask an owner of the workspace to invite them."),
                params={"name": name},
            )
        return user


class AssignForm(forms.Form):
    """Assign an item to a member."""

    item = forms.CharField(label=_("Item"), max_length=200)
    username = forms.CharField(label=_("Username"), max_length=150)

    def __init__(self, *args: Any, project: Project, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._project = project

    def clean_item(self) -> Item:
        """Return the item of that name."""
        name = self.cleaned_data["item"]
        item = self._project.items.filter(external_id=name).first()
        if item is None:
            raise forms.ValidationError(
                _("Item %(name)s does not exist in this project."), params={"name": name}
            )
        return item

    def clean_username(self) -> Membership:
        """Return the person of that name, who may annotate in the project."""
        name = self.cleaned_data["username"]
        member = member_named(self._project, name)
        if member is None or not may(member, Act.ANNOTATE):
            raise forms.ValidationError(
                _("%(name)s may not annotate in this project. Add them as a member first."),
                params={"name": name},
            )
        return member


class GuidelineForm(forms.ModelForm):
    """A new version of a guideline."""

    module = forms.ChoiceField(label=_("Module"), required=False)

    class Meta:
        """Fields and labels."""

        model = Guideline
        fields = ["module", "text"]
        labels = {"text": _("Instructions for annotators")}

    def __init__(self, *args: Any, project: Project, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        asked = [name for name, module in MODULES[project.kind].items() if module.role != "compute"]  # type: ignore[index]
        self.fields["module"].choices = [("", _("Whole project")), *((name, name) for name in asked)]  # type: ignore[attr-defined]


class DecisionForm(forms.Form):
    """The annotation and revision that a decision is about.

    They are as the person saw them: annotators submit and reopen meanwhile.
    """

    annotation = forms.IntegerField(min_value=0, max_value=2**63 - 1)
    revision = forms.IntegerField(min_value=0)
    letter = forms.CharField(max_length=10)


class ReturnForm(DecisionForm):
    """A decision to request changes, with the reason."""

    text = forms.CharField(label=_("Requested changes"), widget=forms.Textarea(attrs={"rows": 3}))
    node = forms.IntegerField(required=False, min_value=0, widget=forms.HiddenInput)
