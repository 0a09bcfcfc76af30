"""Forms of uploads and of new runs."""

from collections.abc import Sequence
from typing import Any, get_args

from django import forms
from django.utils.translation import gettext_lazy as _

from accounts.models import Workspace
from foundation.errors import Conflict
from foundation.imports.hub_forms import FIELDS, HubFields
from foundation.translated_messages import translate_error
from jobs.model_servers.served_systems import list_served_systems
from modelserver.wire.schema import SaliencyMethod
from predictions.actions.predictions import require_free_answers, require_programs
from predictions.imports import QUESTION_FORMATS
from predictions.models import Dataset, PredictionRun

FORMATS = {
    "hotpot": _("HotpotQA, 2WikiMultiHopQA (list, JSON Lines or columns)"),
    "musique": _("MuSiQue"),
    "squad": _("SQuAD"),
    "quoref": _("Quoref"),
    "claims": _("Claims with their articles, such as HoVer"),
    "fever": _("FEVER (zip of a folder with wiki-pages)"),
    "scifact": _("SciFact (zip of a folder with corpus.jsonl)"),
    "esnli": _("e-SNLI"),
    "eraser-tasks": _("ERASER (zip of a folder with docs)"),
    "changed": _("Changed items for counterfactual studies (JSON Lines)"),
}
MOST_FILE_BYTES = 2 << 30
METHODS: dict[str, Any] = {
    "integrated-gradients": _("Integrated gradients"),
    "occlusion": _("Occlusion"),
    "gradient-x-input": _("Gradient × input"),
}


class FileField(forms.FileField):
    """An uploaded file of at most `MOST_FILE_BYTES`."""

    def __init__(self, **kwargs: Any) -> None:
        accept = {"accept": ".json,.jsonl,.ndjson,.parquet,.arrow,.zip,.gz"}
        super().__init__(widget=forms.FileInput(attrs=accept), max_length=100, **kwargs)

    def clean(self, data: Any, initial: Any = None) -> Any:
        """Refuse a file that is too large."""
        file = super().clean(data, initial)
        if file and file.size > MOST_FILE_BYTES:
            raise forms.ValidationError(_("The file has more than 2 GiB. Pack it with zip or gzip."))
        return file


class UploadDataset(HubFields):
    """A file of questions, and the dataset that they become."""

    file = FileField(
        label=_("File"),
        help_text=_("JSON or JSON Lines in UTF-8, Parquet or Arrow, also packed with zip or gzip."),
    )
    format = forms.ChoiceField(label=_("Format"), choices=list(FORMATS.items()))
    name = forms.SlugField(
        label=_("Name"),
        max_length=100,
        error_messages={"invalid": _("Use letters without accents, digits, hyphens and underscores only.")},
        # The browser asks for another name before it sends the file, which would have to be chosen again.
        widget=forms.TextInput(attrs={"pattern": r"[a-zA-Z0-9_\-]+"}),
        help_text=_(
            "Letters, digits, hyphens and underscores. Questions are added to a dataset of this name."
        ),
    )
    licence = forms.CharField(
        label=_("Licence (optional)"),
        max_length=100,
        required=False,
        help_text=_("For example CC BY-SA 4.0."),
    )
    workspace = forms.ModelChoiceField(label=_("Workspace"), queryset=Workspace.objects.none())

    field_order = ["file", *FIELDS, "format", "name", "licence", "workspace"]

    def __init__(self, workspaces: Sequence[Workspace], *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        assert FORMATS.keys() == QUESTION_FORMATS.keys()
        field = self.fields["workspace"]
        assert isinstance(field, forms.ModelChoiceField)
        field.queryset = Workspace.objects.filter(pk__in=[workspace.pk for workspace in workspaces])
        field.initial = workspaces[0].pk
        if len(workspaces) == 1:
            field.widget = forms.HiddenInput()


class UploadPredictions(forms.Form):
    """A file of predictions, and the system that made them."""

    file = FileField(
        label=_("File"),
        help_text=_("The official HotpotQA form with “answer” and “sp”, also packed with zip or gzip."),
    )
    system = forms.CharField(label=_("System"), max_length=100, help_text=_("The name of the system."))
    strict = forms.BooleanField(
        label=_("Refuse malformed facts"),
        required=False,
        help_text=_(
            "Facts that are not [title, index]. Otherwise they score as in the official script, and the "
            "preview counts them."
        ),
    )


class StartRun(forms.Form):
    """A dataset, and a served system of the right kind."""

    dataset = forms.ModelChoiceField(label=_("Dataset"), queryset=Dataset.objects.none())
    system = forms.ChoiceField(label=_("System"))

    def __init__(
        self, workspaces: Sequence[Workspace], kind: PredictionRun.Kind, *args: Any, **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        datasets, system = self.fields["dataset"], self.fields["system"]
        assert isinstance(datasets, forms.ModelChoiceField)
        assert isinstance(system, forms.ChoiceField)
        datasets.queryset = Dataset.objects.filter(workspace__in=list(workspaces)).order_by("name")
        wanted = "modular" if kind == PredictionRun.Kind.EXECUTE else "reader"
        self._served = {
            candidate.name: candidate for candidate in list_served_systems() if candidate.kind == wanted
        }
        system.choices = [(name, name) for name in self._served]

    def clean(self) -> dict[str, Any]:
        """Refuse a system that does not fit the dataset."""
        data = super().clean() or {}
        dataset, system = data.get("dataset"), self._served.get(data.get("system", ""))
        if dataset is not None and system is not None:
            try:
                if system.kind == "modular":
                    require_programs(dataset, system.programs)
                elif system.spans_only:
                    require_free_answers(dataset)
            except Conflict as error:
                raise forms.ValidationError(translate_error(error)) from error
        return data


class StartSaliency(forms.Form):
    """The method of saliency."""

    method = forms.ChoiceField(
        label=_("Method"), choices=[(name, METHODS[name]) for name in get_args(SaliencyMethod)]
    )
