"""Forms that give items to a person: one, or a batch."""

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from accounts.policy_table import Act
from annotation.actions.batches import MOST_ITEMS, BatchPlan
from annotation.models import Item, Membership, Project
from annotation.policies import may
from annotation.queries.items import find_ordinary_items
from annotation.queries.members import find_member
from foundation.pages.filled_fields import FilledField


class _ForAnnotator(forms.Form):
    """A form that names a person who may annotate in a project."""

    username = forms.CharField(label=_("Username"), max_length=150)

    def __init__(self, *args: Any, project: Project, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._project = project

    def clean_username(self) -> Membership:
        """Return the person of that name, who may annotate in the project."""
        name = self.cleaned_data["username"]
        member = find_member(self._project, name)
        if member is None or not may(member, Act.ANNOTATE):
            raise forms.ValidationError(
                _("%(name)s may not annotate in this project. Add them as a member first."),
                params={"name": name},
            )
        return member


class AssignForm(_ForAnnotator):
    """Assign an item to a member."""

    item = forms.CharField(label=_("Item"), max_length=200)

    field_order = ["item", "username"]

    def clean_item(self) -> Item:
        """Return the item of that name."""
        name = self.cleaned_data["item"]
        item = self._project.items.filter(external_id=name).first()
        if item is None:
            raise forms.ValidationError(
                _("Item %(name)s does not exist in this project."), params={"name": name}
            )
        return item


class DueDateForm(forms.Form):
    """The due date of a batch."""

    due_on = forms.DateField(
        label=_("Due date"), required=False, widget=forms.DateInput(format="%Y-%m-%d", attrs={"type": "date"})
    )


class BatchForm(_ForAnnotator):
    """Assign many items to a member: the next ones, or chosen ones."""

    name = FilledField(label=_("Name of the batch"), max_length=100)
    number = forms.IntegerField(
        label=_("Number of items"),
        required=False,
        min_value=1,
        max_value=MOST_ITEMS,
        help_text=_("The next free ones, in the order of assignment."),
    )
    items = forms.CharField(
        label=_("Chosen items"),
        required=False,
        widget=forms.Textarea(attrs={"rows": 3, "spellcheck": "false"}),
        help_text=_("Instead of a number: one item ID per line."),
    )
    due_on = DueDateForm.base_fields["due_on"]

    field_order = ["name", "username", "number", "items", "due_on"]

    def clean_items(self) -> list[Item]:
        """Return the items with these IDs, in this order."""
        names = list(dict.fromkeys(line.strip() for line in self.cleaned_data["items"].splitlines()))
        names = [name for name in names if name]
        if len(names) > MOST_ITEMS:
            raise forms.ValidationError(
                _("A batch has at most %(number)d items."), params={"number": MOST_ITEMS}
            )
        there = find_ordinary_items(self._project, names)
        if missing := [name for name in names if name not in there]:
            raise forms.ValidationError(
                _("There is no ordinary item %(name)s in this project."), params={"name": missing[0]}
            )
        return [there[name] for name in names]

    def clean(self) -> dict[str, Any]:
        """Return the fields with the ``plan`` of the batch."""
        given = super().clean() or self.cleaned_data
        items, number = given.get("items"), given.get("number")
        if not self.errors:
            if bool(items) == bool(number):
                raise forms.ValidationError(_("Give a number of items, or choose items, but not both."))
            given["plan"] = BatchPlan(given["name"], items or (), number or 0, given["due_on"])
        return given
