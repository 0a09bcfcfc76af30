"""Forms of the pages that run studies, share them and judge answers."""

import math
from collections.abc import Iterable
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _
from pydantic import ValidationError

from accounts.models import Role, User
from foundation.errors import BadFile
from foundation.translated_messages import translate_error
from studyapp.models import JudgedAnswer
from studyapp.queries.access import SHARED_ROLES
from studyapp.rules.proposed_verdicts import Proposal, read_proposals
from studyapp.rules.sample_sizes import SizeSettings
from studyapp.rules.system_sizes import SystemSettings
from studyapp.web.forms.workspace import WorkspaceForm

_DAY = forms.DateInput(attrs={"type": "date"}, format="%Y-%m-%d")
LARGEST_PROPOSALS = 10_000_000  # bytes
VERDICTS = [("yes", _("Correct")), ("no", _("Not correct"))]


class _VerdictForm(forms.Form):
    verdict = forms.ChoiceField(label=_("Decision"), choices=VERDICTS, widget=forms.RadioSelect)

    @property
    def is_correct(self) -> bool:
        """True if the answer is judged correct."""
        return bool(self.cleaned_data["verdict"] == "yes")


class VerdictForm(_VerdictForm):
    """The judgement of an answer."""

    verdict = forms.ChoiceField(
        label=_("Is the answer correct?"),
        choices=VERDICTS,
        widget=forms.RadioSelect,
        error_messages={"required": _("Please choose whether the answer is correct.")},
    )
    answer = forms.IntegerField(widget=forms.HiddenInput)
    note = forms.CharField(
        label=_("Note (optional)"), max_length=2000, required=False, widget=forms.Textarea(attrs={"rows": 2})
    )


class ProposalsForm(forms.Form):
    """A CSV file of proposed verdicts; a valid form sets ``proposals``."""

    file = forms.FileField(label=_("CSV file: question, answer, proposal, by"))
    proposals: list[Proposal]

    def clean_file(self) -> Any:
        """Read the rows of the file."""
        file = self.cleaned_data["file"]
        if file.size > LARGEST_PROPOSALS:
            raise forms.ValidationError(_("The file is larger than 10 MB."))
        try:
            self.proposals = read_proposals(file.read().decode("utf-8-sig"), file.name)
        except UnicodeDecodeError:
            raise forms.ValidationError(
                _("The file is not UTF-8 text. Save it as UTF-8 and try again.")
            ) from None
        except BadFile as error:
            raise forms.ValidationError(translate_error(error)) from error
        return file


class SettleForm(_VerdictForm):
    """The decision on a disagreement."""

    how = forms.ChoiceField(
        label=_("Decided by"),
        choices=[
            (JudgedAnswer.How.THIRD_JUDGE, _("I am the third judge")),
            (JudgedAnswer.How.DISCUSSION, _("The two judges discussed it")),
        ],
        widget=forms.RadioSelect,
    )
    note = forms.CharField(label=_("Why"), max_length=2000, widget=forms.Textarea(attrs={"rows": 2}))


class ConditionForm(forms.Form):
    """The quota of a condition, and its switch."""

    is_open = forms.BooleanField(label=_("Open"), required=False)
    quota = forms.IntegerField(label=_("Quota"), min_value=1, max_value=1_000_000, required=False)

    def __init__(self, *args: Any, condition: int, **options: Any) -> None:
        # The page has a form for each condition, whose fields need IDs of their own.
        super().__init__(*args, **{"auto_id": f"condition-{condition}-%s", **options})


class NoteForm(forms.Form):
    """A note for the log of a study."""

    text = forms.CharField(label=_("New note"), max_length=5000, widget=forms.Textarea(attrs={"rows": 3}))


class LogForm(forms.Form):
    """The filters of the log."""

    # Texts, so that an address with an event or a person who is gone finds nothing, and not everything.
    kind = forms.CharField(label=_("Event"), max_length=40, required=False, widget=forms.Select)
    who = forms.CharField(label=_("Person"), max_length=150, required=False, widget=forms.Select)
    since = forms.DateField(label=_("From"), required=False, widget=_DAY)
    until = forms.DateField(label=_("To"), required=False, widget=_DAY)

    def __init__(self, data: Any, *, kinds: Iterable[tuple[str, str]], actors: Iterable[str]) -> None:
        super().__init__(data)
        choices = {
            "kind": [("", _("all events")), *kinds],
            "who": [
                ("", _("all users")),
                ("participants", _("participants")),
                *((name, name) for name in actors),
            ],
        }
        for name, options in choices.items():
            self.fields[name].widget.choices = options


class DuplicateForm(WorkspaceForm):
    """The name, title and workspace of a copy."""

    slug = forms.RegexField(
        r"^[a-z0-9]+(?:[-_][a-z0-9]+)*$",
        label=_("Short name (for addresses and commands)"),
        max_length=100,
        error_messages={"invalid": _("Use only lower case letters, digits, - and _.")},
    )
    title = forms.CharField(
        label=_("Title"), max_length=200, help_text=_("Staff see it, in lists, exports and reports.")
    )


class ShareForm(forms.Form):
    """A user with whom a study is shared, and the role."""

    user = forms.CharField(label=_("User name"), max_length=150, strip=True)
    role = forms.ChoiceField(
        label=_("Role"),
        choices=[(role.value, role.label) for role in SHARED_ROLES],
        initial=Role.VIEWER.value,
    )

    def clean_user(self) -> User:
        """Return the active user of this name."""
        user = User.objects.filter(username=self.cleaned_data["user"], is_active=True).first()
        if user is None:
            raise forms.ValidationError(
                _("There is no active user with this name. Check the spelling, or invite the person first.")
            )
        return user


class _AssumptionsForm(WorkspaceForm):
    """The assumptions of a simulation; a valid form sets ``settings``."""

    kind: type[SizeSettings | SystemSettings]
    settings: SizeSettings | SystemSettings | None = None

    target = forms.FloatField(label=_("Target power"), min_value=0.01, max_value=0.99, initial=0.8)
    alpha = forms.FloatField(
        label=_("Significance level (alpha)"), min_value=0.0001, max_value=0.5, initial=0.05
    )
    simulations = forms.IntegerField(
        label=_("Simulated studies"), min_value=100, max_value=20_000, initial=2000
    )

    def clean(self) -> dict[str, Any]:
        """Validate the assumptions together."""
        data: dict[str, Any] = super().clean() or {}
        if not self.errors:
            try:
                assumptions = {name: value for name, value in data.items() if name != "workspace"}
                self.settings = self.kind.model_validate(assumptions)
            except ValidationError as error:
                for problem in error.errors(include_url=False):
                    cause = problem.get("ctx", {}).get("error")
                    self.add_error(None, translate_error(cause) if cause else problem["msg"])
        return data


def _parse_numbers(text: str) -> list[float]:
    """Parse numbers separated by commas; NaN stands for what is none.

    Commas between semicolons are decimal, as in ``0; 0,1``.
    """
    parts = text.replace(",", ".").split(";") if ";" in text else text.split(",")
    try:
        return [float(part) for part in parts]
    except ValueError:
        return [math.nan]


class SizeForm(_AssumptionsForm):
    """The assumptions of a power analysis for participants."""

    kind = SizeSettings

    measure = forms.ChoiceField(
        label=_("Measure"),
        choices=[
            ("trials", _("Mean over trials: judgements, advice, predictions")),
            ("change", _("Change between two blocks: simulation")),
            ("win_rate", _("Win rate against one half: preference")),
        ],
        required=False,
    )
    effects = forms.CharField(label=_("Effects (comma-separated)"), max_length=200, initial="0, 0.1")
    items = forms.IntegerField(label=_("Items per participant"), min_value=1, max_value=1000, initial=25)
    participant_sd = forms.FloatField(label=_("SD of participants"), min_value=0, initial=0.1)
    item_sd = forms.FloatField(label=_("SD of items"), min_value=0, initial=0)
    mean = forms.FloatField(
        label=_("Mean (yes/no measures)"), min_value=0, max_value=1, required=False, initial=0.6
    )
    residual_sd = forms.FloatField(label=_("SD of trials (other measures)"), min_value=0, required=False)

    def clean_measure(self) -> str:
        """Take the mean over trials unless another measure is chosen."""
        return str(self.cleaned_data["measure"] or "trials")

    def clean_effects(self) -> list[float]:
        """Parse the effects, one number per condition."""
        effects = _parse_numbers(self.cleaned_data["effects"])
        if not all(map(math.isfinite, effects)):
            raise forms.ValidationError(_("Enter numbers separated by commas, one per condition."))
        return effects


class SystemSizeForm(_AssumptionsForm):
    """The assumptions of a power analysis for systems."""

    kind = SystemSettings
    correlations = forms.CharField(
        label=_("True correlations (comma-separated)"), max_length=200, initial="0.5, 0.7, 0.9"
    )
    coefficient = forms.ChoiceField(
        label=_("Coefficient"),
        choices=[("pearson", _("Pearson")), ("spearman", _("Spearman")), ("kendall", _("Kendall"))],
    )
    noise = forms.FloatField(
        label=_("Noise of people’s means (SD)"), min_value=0, max_value=100, required=False
    )

    def clean_correlations(self) -> list[float]:
        """Parse the correlations."""
        correlations = _parse_numbers(self.cleaned_data["correlations"])
        if not all(0 < abs(correlation) <= 1 for correlation in correlations):
            raise forms.ValidationError(
                _("Enter numbers from -1 to 1 without 0, separated by commas, such as 0.5, 0.7.")
            )
        return correlations
