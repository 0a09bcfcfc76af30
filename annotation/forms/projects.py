"""Forms of managers and reviewers."""

import json
from collections.abc import Sequence
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext

from accounts.models import User, Workspace
from accounts.shareable import load_sharing_module
from analysis.programs import MODULES, ProgramError
from annotation.bots import BEHAVIOURS
from annotation.content.label_templates import TEMPLATES
from annotation.content.labels import LabelTask, read_label_task
from annotation.formats.checks import parse_program_text
from annotation.models import Guideline, Item, Membership, Order, Project, Role
from annotation.parsed_items import get_kind, parse_task
from annotation.queries.items import STATES
from annotation.suggestions import Fit, choose_default_fit
from foundation.imports.hub_forms import FIELDS, HubFields
from foundation.pages.filled_fields import FilledField
from foundation.translated_messages import translate_error

PROGRAM, YAML = "program", "yaml"
TASKS = {
    PROGRAM: _("Programs: steps over images or passages"),
    "ner": _("Named entities"),
    "aspects": _("Opinions on aspects of a text"),
    "classification": _("Classification"),
    "rationale": _("Class with rationale"),
    "boxes": _("Boxes in images"),
    "outlines": _("Outlines and key points in images"),
    "evidence": _("Evidence for a claim"),
    "relations": _("Relations between entities"),
    "counterfactual": _("Review of counterfactual texts"),
    "preference": _("Preference between two answers"),
    YAML: _("Label configuration in YAML"),
}


def build_template_layers(name: str) -> list[dict[str, Any]]:
    """Return the layers of a template, named in the language of the page."""
    return [_translate_layer(layer) for layer in TEMPLATES[name]]


def _translate_layer(value: Any) -> Any:
    """Translate the names, hints and labels of a layer."""
    if isinstance(value, dict):
        return {key: each if key == "type" else _translate_layer(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_translate_layer(each) for each in value]
    return pgettext("label template", value) if isinstance(value, str) else value


class ProjectForm(forms.ModelForm):
    """A new project, of programs or with a label configuration."""

    task = forms.ChoiceField(label=_("Task"), choices=list(TASKS.items()), initial=PROGRAM, required=False)
    labels = forms.CharField(
        label=_("Label configuration"),
        required=False,
        strip=False,
        widget=forms.Textarea(attrs={"rows": 12, "spellcheck": "false"}),
    )

    class Meta:
        """Fields and labels."""

        model = Project
        fields = ["workspace", "title", "slug", "annotators_per_item", "task", "kind"]
        field_classes = {"title": FilledField}
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

    def clean_labels(self) -> LabelTask | None:
        """Return the label configuration of the task; None for programs."""
        task, text = self.cleaned_data.get("task") or PROGRAM, self.cleaned_data["labels"]
        if task == PROGRAM:
            return None
        if not text.strip() and task in TEMPLATES:
            return LabelTask.model_validate({"layers": build_template_layers(task)})
        try:
            return read_label_task(text)
        except ValueError as error:
            raise forms.ValidationError(translate_error(error)) from error

    def clean(self) -> dict[str, Any]:
        """Return the fields; marks decide if the items are texts or images."""
        given = super().clean() or self.cleaned_data
        given.pop("task", None)
        if (labels := given.get("labels")) is not None and labels.kind is not None:
            given["kind"] = labels.kind
        return given

    def _post_clean(self) -> None:
        # The model holds the configuration as JSON, which `create_project` makes of it.
        labels = self.cleaned_data.pop("labels", None)
        super()._post_clean()  # type: ignore[misc]
        if "labels" not in self.errors:
            self.cleaned_data["labels"] = labels


class LabelsForm(forms.Form):
    """The label configuration of a project, in YAML."""

    labels = forms.CharField(
        label=_("Label configuration"),
        strip=False,
        widget=forms.Textarea(attrs={"rows": 20, "spellcheck": "false"}),
    )

    def clean_labels(self) -> LabelTask:
        """Return the label configuration."""
        try:
            return read_label_task(self.cleaned_data["labels"])
        except ValueError as error:
            raise forms.ValidationError(translate_error(error)) from error


class _LabelForm(forms.Form):
    """A label of a layer, or of a question about its marks."""

    label = forms.ChoiceField(label=_("Label"))

    def __init__(self, *args: Any, task: LabelTask, **kwargs: Any) -> None:
        # Two such forms are on one page, and each field needs an ID of its own.
        super().__init__(*args, **{"auto_id": f"{type(self).__name__}-%s"} | kwargs)
        self.fields["label"].choices = [  # type: ignore[attr-defined]
            (json.dumps([layer.name, asked.name if asked is not layer else "", name]), f"{title}: {name}")
            for layer in task.layers
            for asked, title in [
                (layer, layer.name),
                *((each, f"{layer.name} – {each.name}") for each in layer.questions),
            ]
            for name in asked.names
        ]

    def values(self) -> dict[str, str]:
        """Return the arguments of the action."""
        layer, question, label = json.loads(self.cleaned_data["label"])
        return {**self.cleaned_data, "layer": layer, "question": question, "label": label}


class RenameLabelForm(_LabelForm):
    """A label and its new name."""

    new_name = forms.CharField(label=_("New name"), max_length=60)


class RemoveLabelForm(_LabelForm):
    """A label to delete, and the one that takes over its uses."""

    into = forms.CharField(
        label=_("Merge into label"),
        required=False,
        max_length=60,
        help_text=_("The name of another label of the same layer. Leave empty to delete an unused label."),
    )


class SettingsForm(forms.ModelForm):
    """Settings that a manager can change while a project runs."""

    class Meta:
        """Fields, labels and help texts."""

        model = Project
        fields = [
            "title", "reservation_minutes", "show_answer", "show_predictions", "qualification_score",
            "hidden_gold_every", "due_on",
        ]  # fmt: skip
        field_classes = {"title": FilledField}
        labels = {
            "title": _("Title"),
            "reservation_minutes": _("Reservation timeout (minutes)"),
            "show_answer": _("Show expected answer"),
            "show_predictions": _("Show model outputs"),
            "qualification_score": _("Qualification score (mean F1)"),
            "hidden_gold_every": _("Items per hidden gold item"),
            "due_on": _("Due date"),
        }
        widgets = {"due_on": forms.DateInput(format="%Y-%m-%d", attrs={"type": "date"})}
        help_texts = {
            "qualification_score": _("From 0 to 1. Leave empty to skip qualification."),
            "hidden_gold_every": _("Leave empty to use no hidden gold items."),
        }


class AnnotatorsPerItemForm(forms.Form):
    """The number of annotators per item."""

    annotators_per_item = forms.IntegerField(label=_("Annotators per item"), min_value=1, max_value=20)


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


class ReaderForm(forms.Form):
    """A served reader or language model, and where its spans come from."""

    system = forms.ChoiceField(label=_("System"))
    marks = forms.ChoiceField(label=_("Suggest spans from"), required=False)

    def __init__(self, *args: Any, project: Project, served: Sequence[str], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["system"].choices = [(name, name) for name in served]  # type: ignore[attr-defined]
        default, fits = choose_default_fit(parse_task(project)), _list_fits(project)
        if len(fits) == 1:
            del self.fields["marks"]
            return
        marks = self.fields["marks"]
        marks.choices = [(fit.model_dump_json(), label) for fit, label in fits]  # type: ignore[attr-defined]
        marks.initial = default.model_dump_json()


def _list_fits(project: Project) -> list[tuple[Fit, Any]]:
    """Return the uses of a reader's answers in a project, with their labels."""
    sources = (("answer", _("the answer")), ("facts", _("the facts")))
    task = parse_task(project)
    if task is None:
        return [(Fit(marks=source), name) for source, name in sources]  # type: ignore[arg-type]
    targets = [
        (index, layer.name, label)
        for index, layer in enumerate(task.layers, start=1)
        if layer.type == "spans"
        for label in layer.names
    ]
    fits: list[tuple[Fit, Any]] = [(Fit(), _("nothing: only answers"))]
    return fits + [
        (Fit(marks=source, layer=index, label=label), f"{name} → {layer}: {label}")  # type: ignore[arg-type]
        for source, name in sources
        for index, layer, label in targets
    ]


class GuidelineForm(forms.ModelForm):
    """A new version of a guideline."""

    module = forms.ChoiceField(label=_("Module"), required=False)

    class Meta:
        """Fields and labels."""

        model = Guideline
        fields = ["module", "text"]
        field_classes = {"text": FilledField}
        labels = {"text": _("Instructions for annotators")}

    def __init__(self, *args: Any, project: Project, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        task = parse_task(project)
        asked = (
            [name for name, module in MODULES[get_kind(project)].items() if module.role != "compute"]
            if task is None
            else [layer.name for layer in task.layers]
        )
        self.module_choices = [("", _("Whole project")), *((name, name) for name in asked)]
        self.fields["module"].choices = self.module_choices  # type: ignore[attr-defined]


class DecisionForm(forms.Form):
    """The annotation and revision that a decision is about.

    They are as the person saw them: annotators submit and reopen meanwhile.
    """

    annotation = forms.IntegerField(min_value=0, max_value=2**63 - 1)
    revision = forms.IntegerField(min_value=0)
    letter = forms.CharField(max_length=10)
    version = forms.IntegerField(required=False, min_value=0)  # of the gold; 0 without gold


class ReturnForm(DecisionForm):
    """A decision to request changes, with the reason."""

    text = forms.CharField(label=_("Requested changes"), widget=forms.Textarea(attrs={"rows": 3}))
    node = forms.IntegerField(required=False, min_value=0, widget=forms.HiddenInput)


# The formats of uploads, with the kinds of projects that take them; an empty list is any. Projects with a
# label configuration are of the kinds "labels" and "labelled spans" or "labelled boxes"; all that show images
# are of "images", too.
UPLOADS: dict[str, tuple[tuple[str, ...], Any]] = {
    "plain": (("labels",), _("Texts or images (.jsonl, .csv, .parquet, .arrow, or .zip with images)")),
    "jsonl": ((), _("JSON lines of this site (.jsonl, or .zip with images)")),
    "nlvr2": (("boxes",), _("NLVR2: sentences about image pairs (.json, or .zip with images and programs)")),
    "coco": (("boxes", "labelled boxes"), _("COCO boxes (.json, or .zip with images)")),
    "labelstudio": ((), _("Label Studio tasks (.json, or .zip with images)")),
    "doccano": (("labels",), _("doccano (.jsonl, or .zip with images)")),
    "prodigy": (("labels",), _("Prodigy (.jsonl, or .zip with images)")),
    "conll": (("labelled spans",), _("CoNLL: words and tags (.conll, .txt or .zip)")),
    "webanno": (("labelled spans",), _("WebAnno TSV 3, as INCEpTION exports it (.tsv or .zip)")),
    "brat": (("labelled spans",), _("brat (.zip with .txt and .ann files)")),
    "eraser": (("labelled spans",), _("ERASER rationales (.zip with .jsonl files and docs)")),
    "yolo": (("labelled boxes",), _("YOLO (.zip with labels, names and images)")),
    "voc": (("labelled boxes",), _("Pascal VOC (.xml, or .zip with images)")),
    "cvat": (("labelled boxes",), _("CVAT for images 1.1 (.xml, or .zip with images)")),
    "w3c": (("labels",), _("W3C Web Annotations (.json or .zip)")),
    "faithful-nmn": (("boxes",), _("faithful-nmn (.zip with .csv, .tsv and NLVR2 file)")),
    "nlvr": (("boxes",), _("NLVR drawings (.json, or .zip with images)")),
    "drop": (("spans",), _("DROP questions (.json)")),
    "reasons": (("spans",), _("Counterfactual instances (.jsonl)")),
    "images": (("images",), _("Images of items that are here already (.zip)")),
}
DOWNLOADS: dict[str, tuple[tuple[str, ...], Any]] = {
    "jsonl": ((), _("JSON lines: everything, to import again")),
    "parquet": (("boxes", "spans"), _("Parquet: one row per object")),
    "coco": (("boxes", "labelled boxes"), _("COCO")),
    "labelstudio": ((), _("Label Studio")),
    "w3c": ((), _("W3C Web Annotations")),
    "faithful-nmn": (("boxes",), _("faithful-nmn: the released files again (gold only)")),
    "drop": (("spans",), _("DROP: the imported file with current gold")),
    "brat": (("spans", "labelled spans"), _("brat")),
    "doccano": (("labelled spans",), _("doccano (gold only)")),
    "prodigy": (("labels",), _("Prodigy")),
    "conll": (("labelled spans",), _("CoNLL: words and tags (gold only)")),
    "webanno": (("labelled spans",), _("WebAnno TSV 3 (gold only)")),
    "eraser": (("labelled spans",), _("ERASER rationales (gold only)")),
    "yolo": (("labelled boxes",), _("YOLO (gold only)")),
    "voc": (("labelled boxes",), _("Pascal VOC (gold only)")),
    "cvat": (("labelled boxes",), _("CVAT for images 1.1 (gold only)")),
    "reasons": (("spans",), _("Counterfactual instances with verdicts")),
}


def _select_formats(
    formats: dict[str, tuple[tuple[str, ...], Any]], project: Project, *, any_labels: bool = False
) -> list[tuple[str, Any]]:
    kinds = {"labels", f"labelled {project.kind}"} if project.labels else {project.kind}
    kinds |= {"images"} if project.kind == "boxes" else set()
    chosen = {name for name, (only, _label) in formats.items() if not only or kinds & set(only)}
    more = {"labels", "labelled boxes", "labelled spans"} if any_labels else set[str]()
    offered = {name for name, (only, _label) in formats.items() if more & set(only)} - chosen
    # Those of the project's own task come first, because the first is what a form begins with.
    return [(name, formats[name][1]) for part in (chosen, offered) for name in formats if name in part]


class UploadForm(HubFields):
    """A file of items, or of images for items."""

    file = forms.FileField(label=_("File"), max_length=200)
    format = forms.ChoiceField(label=_("Format"))
    purpose = forms.ChoiceField(
        label=_("Purpose"),
        choices=Item.Purpose.choices,
        help_text=_("Qualification and hidden gold items need gold; they measure annotators."),
    )
    labels_from_file = forms.BooleanField(
        label=_("Use the labels in the file"),
        required=False,
        help_text=_("Replaces the task of this project, as long as it has no items."),
    )

    field_order = ["file", *FIELDS, "format", "purpose", "labels_from_file"]

    def __init__(self, *args: Any, project: Project, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if not project.labels:  # a dataset of the hub has texts, which are items of a plain task
            self.leave_out_hub()
        is_empty = not project.items.exists()
        choices = _select_formats(UPLOADS, project, any_labels=is_empty)
        self.fields["format"].choices = choices  # type: ignore[attr-defined]
        if not is_empty:
            del self.fields["labels_from_file"]


class OutputsForm(forms.Form):
    """A file of a system's outputs, and which system made them."""

    file = forms.FileField(
        label=_("File"), max_length=200, help_text=_("JSON lines, one item a line; also as .gz or .zip.")
    )
    system = forms.CharField(label=_("System"), max_length=100)
    revision = forms.CharField(
        label=_("Revision"),
        max_length=100,
        help_text=_("Version of the system, such as a date. Other outputs for the same items need another."),
    )


class ExportForm(forms.Form):
    """The format of an export."""

    format = forms.ChoiceField(label=_("Format"))
    gold_only = forms.BooleanField(label=_("Only items with gold"), required=False)

    def __init__(self, *args: Any, project: Project, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["format"].choices = _select_formats(DOWNLOADS, project)  # type: ignore[attr-defined]


class OrderForm(forms.Form):
    """The order in which the items of a project are assigned."""

    order = forms.ChoiceField(
        label=_("Order"),
        choices=[(order.value, order.label) for order in Order if order not in (Order.FIRST, Order.LAST)],
    )


class MoveForm(forms.Form):
    """The end of the order to which an item moves."""

    order = forms.ChoiceField(choices=[(order.value, order.label) for order in (Order.FIRST, Order.LAST)])


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
