"""Forms of the people and bots of a project."""

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from accounts.models import User
from accounts.shareable import load_sharing_module
from annotation.bots import BEHAVIOURS
from annotation.models import Membership, Project, Role


class MemberForm(forms.Form):
    """A person, their role, and their membership.

    Only with ``changes`` does it change a member: it was filled with their present values then.
    """

    changes = forms.BooleanField(required=False, widget=forms.HiddenInput)
    username = forms.CharField(label=_("Username"), max_length=150)
    role = forms.ChoiceField(label=_("Role"), choices=Role.choices)
    active = forms.BooleanField(label=_("Active member"), required=False, initial=True)
    blind = forms.BooleanField(label=_("Works without model outputs"), required=False)

    def __init__(self, data: Any = None, *, project: Project, member: Membership | None = None) -> None:
        self._project = project
        initial = {}
        if member is not None:
            initial = {
                "changes": True,
                "username": member.user.get_username(),
                "role": member.role,
                "active": member.active,
                "blind": member.blind,
            }
        super().__init__(data, initial=initial)
        self.fields["username"].widget.attrs["readonly"] = bool(self["changes"].value())

    def clean_username(self) -> User:
        """Return the user of that name."""
        name = self.cleaned_data["username"]
        user = User.objects.filter(username=name).first()
        if user is None:
            raise forms.ValidationError(
                _("User %(name)s does not exist. Invite them with the form “Invite somebody”."),
                params={"name": name},
            )
        if not self.cleaned_data["changes"] and self._project.memberships.filter(user=user).exists():
            raise forms.ValidationError(
                _("%(name)s is a member already. Choose “Change” in the table of people."),
                params={"name": name},
            )
        return user


class ProjectInvitationForm(forms.Form):
    """An invitation to a project."""

    role = forms.ChoiceField(label=_("Role"))
    email = forms.EmailField(
        label=_("E-mail address"),
        required=False,
        help_text=_("Optional. Without it, send the link yourself."),
    )
    days = forms.TypedChoiceField(
        label=_("Valid for"),
        coerce=int,
        choices=[(7, _("7 days")), (14, _("14 days")), (30, _("30 days"))],
        initial=14,
    )

    def __init__(self, data: Any = None) -> None:
        super().__init__(data, auto_id="invite_%s")
        roles = [(str(role), role.label) for role in load_sharing_module("project").ROLES]
        self.fields["role"].choices = roles  # type: ignore[attr-defined]


_BEHAVIOURS = {
    "careful": _("careful"),
    "sloppy": _("sloppy"),
    "fast": _("fast"),
    "offline": _("offline, sends all edits at the end"),
}


class BotsForm(forms.Form):
    """A simulation with bots."""

    n = forms.IntegerField(label=_("Bots"), min_value=1, max_value=20, initial=3)
    behaviour = forms.ChoiceField(label=_("Behaviour"))
    items = forms.IntegerField(
        label=_("Items per bot"),
        required=False,
        min_value=1,
        max_value=1000,
        help_text=_("Leave empty to annotate until nothing is left."),
    )

    def __init__(self, data: Any = None) -> None:
        super().__init__(data, auto_id="bots_%s")
        choices = [(name, _BEHAVIOURS[name]) for name in BEHAVIOURS]
        self.fields["behaviour"].choices = choices  # type: ignore[attr-defined]
