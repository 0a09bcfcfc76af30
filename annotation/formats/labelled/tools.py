"""List the tools whose files hold plain tasks."""

from collections.abc import Callable, Iterable
from pathlib import Path

from annotation.content.schemas import ItemRecord
from annotation.formats.labelled import brat, json_lines, label_studio, token_tables, web_annotations
from annotation.formats.labelled.entries import Reader
from annotation.formats.labelled.image_formats import coco, cvat, voc, yolo

LABELLED_READERS: dict[str, Reader] = {
    "labelstudio": label_studio.read,
    "doccano": json_lines.read_doccano,
    "prodigy": json_lines.read_prodigy,
    "eraser": json_lines.read_eraser,
    "conll": token_tables.read_conll,
    "webanno": token_tables.read_webanno,
    "brat": brat.read_brat,
    "w3c": web_annotations.read_w3c,
    "coco": coco.read,
    "yolo": yolo.read_yolo,
    "voc": voc.read_voc,
    "cvat": cvat.read_cvat,
}
LABELLED_WRITERS: dict[str, Callable[[Iterable[ItemRecord], Path], object]] = {
    "labelstudio": label_studio.write,
    "doccano": json_lines.write_doccano,
    "prodigy": json_lines.write_prodigy,
    "eraser": json_lines.write_eraser,
    "conll": token_tables.write_conll,
    "webanno": token_tables.write_webanno,
    "brat": brat.write_brat,
    "w3c": web_annotations.write_w3c,
    "coco": coco.write,
    "yolo": yolo.write_yolo,
    "voc": voc.write_voc,
    "cvat": cvat.write_cvat,
}
