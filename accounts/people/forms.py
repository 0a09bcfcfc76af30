"""Forms of people, invitations, tokens and the audit log."""

from collections.abc import Callable
from typing import Any

from django import forms
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from accounts.event_labels import EVENT_LABELS
from accounts.models import Role, Scope, User, Workspace
from accounts.queries.audit import Filters
from accounts.queries.people import find_account_by_name
from accounts.shareable import Shareable, list_kind_choices, load_sharing_module
from foundation.errors import NotFound
from foundation.messages import extract_message, translate_message
from foundation.pages.filled_fields import FilledField


def _build_day_choices(*choices: int) -> Callable[[], list[tuple[int, str]]]:
    # A function, because % on a lazy text fixes its language when this module is imported.
    return lambda: [(days, _("%(days)s days") % {"days": days}) for days in choices]


# No role is chosen at first, so that nobody becomes an owner by an oversight.
_ROLES = [("", gettext_lazy("Choose a role")), *Role.choices]


class PersonField(forms.CharField):
    """The user name or e-mail address of an existing account."""

    def clean(self, value: Any) -> User | None:
        """Return the account."""
        name = super().clean(value)
        try:
            return find_account_by_name(name, active=True) if name else None
        except NotFound as error:
            raise forms.ValidationError(translate_message(extract_message(error), _)) from error


class RoleForm(forms.Form):
    """A role for a person with an account."""

    person = PersonField(label=gettext_lazy("User name or e-mail"), max_length=254)
    role = forms.ChoiceField(label=gettext_lazy("Role"), choices=_ROLES)


class WorkspaceForm(forms.Form):
    """A new workspace."""

    name = FilledField(label=gettext_lazy("Name"), max_length=200)
    slug = forms.SlugField(
        label=gettext_lazy("Short name"),
        max_length=100,
        widget=forms.TextInput(attrs={"data-follows": "name"}),
        help_text=gettext_lazy(
            "Part of addresses, and the name in commands. Letters, digits, hyphens and underscores."
        ),
    )
    owner = PersonField(
        label=gettext_lazy("Owner"),
        max_length=254,
        required=False,
        help_text=gettext_lazy("User name or e-mail of an account. Leave empty to be the owner yourself."),
    )


class InvitationForm(forms.Form):
    """An invitation to a workspace, or to one object in it."""

    role = forms.ChoiceField(label=gettext_lazy("Role"), choices=_ROLES)
    kind = forms.ChoiceField(label=gettext_lazy("Access to"), required=False)
    slug = forms.CharField(
        label=gettext_lazy("Short name of it"),
        required=False,
        max_length=100,
        help_text=gettext_lazy("The last part of its address. Leave empty for the whole workspace."),
    )
    email = forms.EmailField(
        label=gettext_lazy("E-mail address"),
        required=False,
        help_text=gettext_lazy("Optional. Without it, send the link yourself."),
    )
    days = forms.TypedChoiceField(
        label=gettext_lazy("Valid for"), coerce=int, choices=_build_day_choices(7, 14, 30), initial=14
    )

    def __init__(self, *args: Any, workspace: Workspace, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.workspace = workspace
        self.shared: Shareable | None = None
        kind = self.fields["kind"]
        assert isinstance(kind, forms.ChoiceField)
        kind.choices = [("", _("The whole workspace")), *list_kind_choices()]

    def clean(self) -> dict[str, Any]:
        """Find the object, and check that it can be shared in the role."""
        data = super().clean() or {}
        kind, slug, role = data.get("kind"), data.get("slug"), data.get("role")
        if kind:
            self.shared = load_sharing_module(kind).OBJECTS.filter(slug=slug).first() if slug else None
            if self.shared is None or self.shared.workspace != self.workspace:
                self.add_error("slug", _("This workspace has nothing of this kind with this short name."))
            roles = load_sharing_module(kind).ROLES
            if role and role not in roles:
                names = ", ".join(str(choice.label) for choice in roles)
                self.add_error(
                    "role", _("For this, choose one of these roles: %(roles)s.") % {"roles": names}
                )
        elif slug:
            self.add_error("kind", _("Choose what the short name belongs to."))
        return data


class TokenForm(forms.Form):
    """A new API token."""

    name = forms.CharField(
        label=gettext_lazy("Name"),
        max_length=100,
        help_text=gettext_lazy("Purpose of the token, for example “nightly export”."),
    )
    scope = forms.ChoiceField(label=gettext_lazy("Scope"), choices=Scope.choices)
    days = forms.TypedChoiceField(
        label=gettext_lazy("Valid for"), coerce=int, choices=_build_day_choices(7, 30, 90, 365), initial=90
    )


class DeleteAccountForm(forms.Form):
    """The password again, or the user name of an account without one."""

    password = forms.CharField(label=gettext_lazy("Password"), strip=False, widget=forms.PasswordInput)

    def __init__(self, *args: Any, user: User, **options: Any) -> None:
        super().__init__(*args, **options)
        self.user = user
        if not user.has_usable_password():
            self.fields["password"] = forms.CharField(label=_("User name"))

    def clean_password(self) -> str:
        """Check the password, or the name of an account without one."""
        given: str = self.cleaned_data["password"]
        if self.user.has_usable_password():
            if not self.user.check_password(given):
                raise forms.ValidationError(_("This is not your password."))
        elif given != self.user.username:
            raise forms.ValidationError(_("This is not your user name."))
        return given


class AuditForm(forms.Form):
    """Filters of the audit log."""

    person = forms.CharField(label=gettext_lazy("User name"), required=False, max_length=150)
    kind = forms.ChoiceField(label=gettext_lazy("Event"), required=False)
    since = forms.DateField(
        label=gettext_lazy("From (UTC)"), required=False, widget=forms.DateInput(attrs={"type": "date"})
    )
    until = forms.DateField(
        label=gettext_lazy("To (UTC)"), required=False, widget=forms.DateInput(attrs={"type": "date"})
    )
    before = forms.IntegerField(required=False, min_value=1, max_value=2**63 - 1, widget=forms.HiddenInput)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        kind = self.fields["kind"]
        assert isinstance(kind, forms.ChoiceField)
        kind.choices = [("", _("All events")), *EVENT_LABELS.kinds.items()]

    def filters(self) -> Filters:
        """Return the filters of a valid form."""
        return Filters(**{name: self.cleaned_data[name] for name in ("person", "kind", "since", "until")})
