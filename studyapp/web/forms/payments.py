"""Forms of the page that pays participants: an order, and files."""

from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from foundation.errors import BadFile
from foundation.translated_messages import translate_text
from studyapp.definition.participation.payments import MOST_AMOUNT, SENT_AWAY, PaymentOrder, read_amounts
from studyapp.models import Outcome

CURRENCIES = [("GBP", "GBP"), ("USD", "USD"), ("EUR", "EUR")]
FORMATS = [
    ("all", _("All columns")),
    ("prolific", _("Prolific: bulk bonus (id, amount)")),
    ("mturk", _("Mechanical Turk: bonus by assignment")),
]
GROUP_LABELS = {
    "done": _("Completed"),
    "late": _("Completed after a return"),
    "screened_out": _("Screened out"),
    "failed_comprehension": _("Failed the comprehension check"),
    "full": _("Study full"),
    "returned": _("Submission returned"),
    "active": _("In progress"),
    "withdrawn": _("Withdrew"),
}
_MOST_BYTES = 500_000


_ACTS = ("approve", "returns", "screen_out", "bonus_each", "amounts", "earned")


def _keep_earned(form: forms.Form, promised: str) -> None:
    """Leave the bonus for correct answers out of a study that promises none."""
    if not promised:
        del form.fields["earned"]


def _build_amount_field(label: Any, **options: Any) -> forms.DecimalField:
    return forms.DecimalField(
        label=label,
        min_value=Decimal("0.01"),
        max_value=MOST_AMOUNT,
        decimal_places=2,
        required=False,
        **options,
    )


class OrderForm(forms.Form):
    """An order: the acts on Prolific, and the people."""

    approve = forms.BooleanField(label=_("Approve those who completed"), required=False)
    returns = forms.MultipleChoiceField(
        label=_("Ask to return the submission"),
        choices=[(group, GROUP_LABELS[group]) for group in SENT_AWAY],
        widget=forms.CheckboxSelectMultiple,
        required=False,
    )
    screen_out = _build_amount_field(
        _("Pay for those screened out"),
        help_text=_("Left out for a submission that Prolific itself has paid as screened out."),
    )
    bonus = forms.CharField(
        label=_("Name of the bonus"),
        max_length=50,
        initial="bonus",
        help_text=_("A participant gets a bonus of one name once, however often it is ordered."),
    )
    bonus_each = _build_amount_field(_("Bonus for everybody who completed"))
    earned = forms.BooleanField(label=_("Bonus for correct answers, as the study promises"), required=False)
    amounts = forms.FileField(
        label=_("Or a CSV file of bonuses"),
        required=False,
        help_text=_("Lines with an ID and an amount, such as abc123,1.50."),
    )
    currency = forms.ChoiceField(label=_("Currency of the study on Prolific"), choices=CURRENCIES)

    def __init__(self, *sent: Any, promised: str = "") -> None:
        """Build the form.

        Args:
            sent: The fields and files.
            promised: The currency of the bonus for correct answers; empty without one.
        """
        super().__init__(*sent)
        self._promised = promised
        _keep_earned(self, promised)

    def clean(self) -> dict[str, Any]:
        """Read the file, and check that something is ordered."""
        given: dict[str, Any] = super().clean() or {}
        if not self.errors and not any(given.get(name) for name in _ACTS):
            self.add_error(None, _("Choose at least one act."))
        if given.get("bonus_each") and given.get("amounts"):
            self.add_error("amounts", _("Give one amount for everybody or a file, not both."))
        if given.get("earned"):
            if given.get("bonus_each") or given.get("amounts"):
                self.add_error("earned", _("Give this bonus a name of its own, in an order of its own."))
            if given.get("currency") != self._promised:
                message = _("The study promises its bonus in %(currency)s.") % {"currency": self._promised}
                self.add_error("currency", message)
        return given

    def clean_amounts(self) -> dict[str, Decimal]:
        """Return the amounts of the file by ID."""
        file = self.cleaned_data["amounts"]
        if file is None:
            return {}
        if file.size > _MOST_BYTES:
            raise forms.ValidationError(_("The file is larger than 500 kB."))
        try:
            return read_amounts(file.read(), file.name)
        except BadFile as error:
            position = f"{error.path}:{error.line}" if error.line else str(error.path)
            parts = [position, error.field, translate_text(error.message)]
            raise forms.ValidationError(": ".join(part for part in parts if part)) from error

    def order(self, earned: Callable[[], Mapping[str, Decimal]] = dict) -> PaymentOrder:
        """Return the order; ``earned`` computes the earned bonuses by ID."""
        given = dict(self.cleaned_data)
        amounts = given.pop("amounts")
        return PaymentOrder(bonus_amounts=earned() if given.pop("earned", False) else amounts, **given)


class PaymentsForm(forms.Form):
    """The amounts of a file of payments, by outcome."""

    done = forms.DecimalField(
        label=_("Amount for completing"), min_value=Decimal(0), max_digits=8, decimal_places=2
    )
    others = forms.DecimalField(
        label=_("Amount for those sent away"),
        min_value=Decimal(0),
        max_digits=8,
        decimal_places=2,
        required=False,
        help_text=_(
            "After screening, a failed comprehension check, or because the study was full. May stay empty."
        ),
    )
    earned = forms.BooleanField(label=_("Add the bonus for correct answers"), required=False)
    format = forms.ChoiceField(label=_("Format"), choices=FORMATS, required=False)

    def __init__(self, *sent: Any, promised: str = "") -> None:
        """Build the form; ``promised`` is as for an order."""
        super().__init__(*sent)
        _keep_earned(self, promised)

    def amounts(self) -> dict[str, Decimal]:
        """Return the amount of each outcome that is paid."""
        amounts = {Outcome.DONE.value: self.cleaned_data["done"]}
        if self.cleaned_data["others"] is not None:
            sent_away = (Outcome.SCREENED_OUT, Outcome.FAILED_COMPREHENSION, Outcome.FULL)
            amounts |= {outcome.value: self.cleaned_data["others"] for outcome in sent_away}
        return amounts
