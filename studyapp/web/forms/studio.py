"""Forms of the studio beside the steps: a new study, a file, a scale."""

from collections.abc import Sequence
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from accounts.models import Workspace
from studyapp.definition.questions.scales import SCALES
from studyapp.queries.design.drafts import list_dataset_names
from studyapp.rules.launch_checks import LONGEST_REASON
from studyapp.studio.starts import STARTS
from studyapp.studio.texts import TITLE_FOR_PARTICIPANTS
from studyapp.web.forms.workspace import WorkspaceForm
from studyapp.web.launch_checks import REASON_LABELS

LARGEST = 2_000_000  # bytes of a definition


class StartForm(WorkspaceForm):
    """A new study over a dataset of its workspace, or over none yet."""

    title = forms.CharField(
        label=_("Title"), max_length=200, help_text=_("Staff see it, in lists, exports and reports.")
    )
    title_for_participants = forms.CharField(
        label=_("Title for participants"),
        max_length=200,
        required=False,
        initial=TITLE_FOR_PARTICIPANTS,
        help_text=_(
            "On every page of participants. It should not name the hypothesis. "
            "If left empty, participants see the title."
        ),
    )
    slug = forms.RegexField(
        r"^[a-z0-9]+(?:[-_][a-z0-9]+)*$",
        label=_("Short name"),
        help_text=_(
            "For addresses and commands. You cannot change it later. Lower case letters, digits, - and _."
        ),
        max_length=100,
        widget=forms.TextInput(attrs={"data-follows": "title"}),
        error_messages={"invalid": _("Use only lower case letters, digits, - and _.")},
    )
    dataset = forms.ChoiceField(label=_("Dataset"), required=False)
    start = forms.ChoiceField(
        label=_("Template"),
        choices=[(name, start.title) for name, start in STARTS.items()],
        widget=forms.RadioSelect,
    )

    def __init__(self, *args: Any, workspaces: Sequence[Workspace], **options: Any) -> None:
        super().__init__(*args, workspaces=workspaces, **options)
        self.datasets = list_dataset_names(workspaces)
        names = [(workspace.name, [(name, name) for name in self.datasets[workspace]])
                 for workspace in workspaces]  # fmt: skip
        field = self.fields["dataset"]
        assert isinstance(field, forms.ChoiceField)
        field.choices = [("", "–"), *(names if len(workspaces) > 1 else names[0][1])]

    @property
    def has_datasets(self) -> bool:
        """True if there is a dataset to choose."""
        return any(self.datasets.values())

    def clean(self) -> dict[str, Any]:
        """Validate that the dataset is one of the chosen workspace."""
        data: dict[str, Any] = super().clean() or {}
        if not self.errors and data["dataset"] not in ("", *self.datasets[self.chosen_workspace]):
            message = _("The workspace %(workspace)s does not have this dataset. Choose one of its datasets.")
            self.add_error("dataset", message % {"workspace": self.chosen_workspace.name})
        return data


class ImportForm(forms.Form):
    """A definition in YAML; a valid form sets ``text`` and ``name``."""

    file = forms.FileField(
        label=_("Study definition (YAML)"),
        widget=forms.FileInput(attrs={"accept": ".yaml,.yml,application/yaml"}),
    )
    text = ""
    name = ""

    def clean_file(self) -> Any:
        """Read the file as text."""
        file = self.cleaned_data["file"]
        if file.size > LARGEST:
            raise forms.ValidationError(_("The file is larger than 2 MB. Choose a study definition."))
        try:
            self.text, self.name = file.read().decode("utf-8"), file.name
        except UnicodeDecodeError:
            raise forms.ValidationError(
                _("The file is not UTF-8 text. Save it as UTF-8 and try again.")
            ) from None
        return file


class FileStartForm(WorkspaceForm, ImportForm):
    """A new study from a definition in YAML."""

    def __init__(self, *args: Any, **options: Any) -> None:
        # The page also has the other form, whose fields have IDs too.
        super().__init__(*args, auto_id="from-file-%s", **options)


class DecisionForm(forms.Form):
    """The decision to launch although a check is open."""

    reason = forms.CharField(
        max_length=LONGEST_REASON,
        help_text=_("It is shown in the report and in the bundle, the public one too."),
        widget=forms.Textarea(attrs={"rows": 2}),
    )

    def __init__(self, *args: Any, check: str, **options: Any) -> None:
        # The page may have a form for each check, whose fields need IDs of their own.
        super().__init__(*args, **{"auto_id": f"{check}-%s", **options})
        self.check = check
        self.fields["reason"].label = REASON_LABELS[check]


class ScaleForm(forms.Form):
    """A scale by name, with its items if they have to be entered."""

    scale = forms.ChoiceField(choices=[(name, scale.title) for name, scale in SCALES.items()])
    items = forms.CharField(required=False, max_length=20_000, widget=forms.Textarea)

    def clean_items(self) -> list[str]:
        """Return one item per line."""
        return [line.strip() for line in self.cleaned_data["items"].splitlines() if line.strip()]
