"""The part of a form that asks which workspace a new object goes into."""

from collections.abc import Sequence
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from accounts.models import Workspace


class WorkspaceForm(forms.Form):
    """A form for a new object; it asks for the workspace if there are several."""

    def __init__(self, *args: Any, workspaces: Sequence[Workspace], **options: Any) -> None:
        super().__init__(*args, **options)
        self.workspaces = workspaces
        if len(workspaces) > 1:
            choices = [(workspace.slug, workspace.name) for workspace in workspaces]
            self.fields["workspace"] = forms.ChoiceField(label=_("Workspace"), choices=choices)
            self.order_fields(["workspace"])

    @property
    def chosen_workspace(self) -> Workspace:
        """The workspace of a valid form: the chosen one, or the only one."""
        slug = self.cleaned_data.get("workspace")
        return next(workspace for workspace in self.workspaces if slug in (None, workspace.slug))
