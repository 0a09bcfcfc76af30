"""Forms of items: their list, order and correction."""

import json
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from analysis.programs import ProgramError
from annotation.formats.checks import parse_program_text
from annotation.models import Item, Order
from annotation.parsed_items import get_kind
from annotation.queries.items import STATES
from foundation.translated_messages import translate_error


class ItemFilterForm(forms.Form):
    """Search and filter of the item list, and the position of a page."""

    search = forms.CharField(
        label=_("Search ID and text"), required=False, max_length=200, widget=forms.SearchInput
    )
    state = forms.ChoiceField(
        label=_("State"), required=False, choices=[("", _("All states")), *STATES.items()]
    )
    after = forms.IntegerField(required=False, min_value=0, max_value=2**31, widget=forms.HiddenInput)
    before = forms.IntegerField(required=False, min_value=0, max_value=2**31, widget=forms.HiddenInput)

    def wanted(self) -> dict[str, Any]:
        """Return what is wanted; bad values count as none."""
        self.is_valid()
        data = self.cleaned_data
        return {
            "search": data.get("search", "").strip().replace("\0", ""),
            "state": data.get("state", ""),
            "after": data.get("after") or 0,
            "before": data.get("before"),
        }


class OrderForm(forms.Form):
    """The order in which the items of a project are assigned."""

    order = forms.ChoiceField(
        label=_("Order"),
        choices=[(order.value, order.label) for order in Order if order not in (Order.FIRST, Order.LAST)],
    )


class MoveForm(forms.Form):
    """The end of the order to which an item moves."""

    order = forms.ChoiceField(choices=[(order.value, order.label) for order in (Order.FIRST, Order.LAST)])


class ItemForm(forms.Form):
    """The correction of an item."""

    text = forms.CharField(label=_("Sentence or question"), widget=forms.Textarea(attrs={"rows": 2}))
    program = forms.CharField(label=_("Program"), widget=forms.Textarea(attrs={"rows": 3}))
    answer = forms.CharField(
        label=_("Expected answer"),
        required=False,
        max_length=1000,
        help_text=_("true, false, a number or a text. Leave empty if it is unknown."),
    )

    _task: dict[str, Any] = {}

    def __init__(self, data: Any = None, *, item: Item) -> None:
        answer = "" if item.answer is None else item.answer
        shown = answer if isinstance(answer, str) else json.dumps(answer)
        initial = {"text": item.text, "program": item.program, "answer": shown}
        super().__init__(data, initial=initial)
        self._kind = get_kind(item.project)
        if item.project.labels:  # every item has the task of its project, and none has an expected answer
            self._task = {"program": item.program, "answer": item.answer}
            del self.fields["program"], self.fields["answer"]
            self.fields["text"].label, self.fields["text"].required = _("Title"), False

    def clean(self) -> dict[str, Any]:
        """Return the fields; those of a plain task stay."""
        return self._task | (super().clean() or self.cleaned_data)

    def clean_program(self) -> str:
        """Return the program as the site writes it."""
        try:
            return str(parse_program_text(self.cleaned_data["program"], self._kind))
        except ProgramError as error:
            raise forms.ValidationError(translate_error(error)) from error

    def clean_answer(self) -> object:
        """Return the answer as a truth value, number or text."""
        text = self.cleaned_data["answer"].strip()
        try:
            value = json.loads(text.lower() if text.lower() in ("true", "false") else text)
        except ValueError:
            return text or None
        return value if isinstance(value, bool | int | float) else text
