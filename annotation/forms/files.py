"""Forms of files that a project imports and exports, and their formats."""

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from annotation.models import Item, Project
from foundation.imports.hub_forms import FIELDS, HubFields

# The formats of uploads, with the kinds of projects that take them; an empty list is any. Projects with a
# label configuration are of the kinds "labels" and "labelled spans" or "labelled boxes"; all that show images
# are of "images", too.
UPLOADS: dict[str, tuple[tuple[str, ...], Any]] = {
    "plain": (
        ("labels",),
        _("Texts or images (.jsonl, .csv, .parquet, .arrow, an image, or .zip with images)"),
    ),
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


class ExportForm(forms.Form):
    """The format of an export."""

    format = forms.ChoiceField(label=_("Format"))
    gold_only = forms.BooleanField(label=_("Only items with gold"), required=False)

    def __init__(self, *args: Any, project: Project, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["format"].choices = _select_formats(DOWNLOADS, project)  # type: ignore[attr-defined]
