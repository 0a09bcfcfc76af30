"""Ask a Label Studio ML backend about items, for suggestions."""

import base64
import mimetypes
from collections.abc import Iterable, Mapping, Sequence

from pydantic import ValidationError

from accounts.models import User
from annotation.actions import projects
from annotation.content.labels import LabelTask
from annotation.content.schemas import Image, ItemRecord, SystemRecord
from annotation.errors import Conflict
from annotation.formats.labelled.label_studio import build_predicted_document, build_prediction_task
from annotation.formats.labelled.label_studio_config import build_labelling_config, list_object_names
from annotation.models import ImageFile, Item, OutputRun, Project
from annotation.parsed_items import get_kind, parse_task
from foundation.images.image_files import read_image
from foundation.imports.import_fields import format_first_error
from foundation.messages import say
from jobs.model_servers.ml_backend import (
    Backend,
    Prediction,
    Problem,
    check_backend_address,
    predict_tasks,
    set_up,
)
from modelserver.wire.schema import ItemError

MOST_IMAGE_BYTES = 8_000_000  # of the images of one request


def set_backend(*, project: Project, url: str, by: User) -> Project:
    """Set the address of the project's ML backend; "" for none.

    Raises:
        ValidationError: The address is not public, or not one of the web.
    """
    url = url.strip()
    if url:
        check_backend_address(url)
    return projects.change_settings(project=project, by=by, ml_backend=url)


def prepare_backend(project: Project) -> Backend:
    """Give the project's backend its labels; return the backend's model.

    Raises:
        Conflict: The project has no labels, or no backend.
        Unavailable: The backend does not answer.
        RunFailed: It does not speak the protocol.
    """
    task = parse_task(project)
    if task is None:
        raise Conflict(say("An ML backend needs labels; this project has programs."))
    if not project.ml_backend:
        raise Conflict(say("The project has no ML backend. Enter its address first."))
    return set_up(project.ml_backend, project=project.slug, config=_build_config(project, task))


def _build_config(project: Project, task: LabelTask) -> str:
    images = max((len(names) for names in _list_first_images(project)), default=1)
    return build_labelling_config(task, get_kind(project), images)


def _list_first_images(project: Project) -> Iterable[list[str]]:
    return project.items.order_by("position").values_list("images", flat=True)[:1000]


def predict_items(run: OutputRun, items: Sequence[Item]) -> list[tuple[Item, SystemRecord | ItemError]]:
    """Ask the backend of a run about items."""
    project = run.project
    task = parse_task(project)
    assert task is not None  # the run began with labels, which projects keep
    config = _build_config(project, task)
    outcomes: list[tuple[Item, SystemRecord | ItemError]] = []
    for part in _split_parts(project, items):
        tasks = [build_prediction_task(record) | {"id": item.pk} for item, record, _data in part]
        for sent, (_item, _record, data) in zip(tasks, part, strict=True):
            sent["data"] = {**sent["data"], **data}
        answers = predict_tasks(run.backend, project=project.slug, config=config, tasks=tasks)
        outcomes += [
            (item, _build_suggestion(record, answer))
            for (item, record, _data), answer in zip(part, answers, strict=True)
        ]
    return outcomes


Part = list[tuple[Item, ItemRecord, dict[str, str]]]


def _split_parts(project: Project, items: Sequence[Item]) -> Iterable[Part]:
    """Yield the items with their images in parts that fit into a request."""
    names = {name for item in items for name in item.images}
    files = {file.name: file for file in ImageFile.objects.filter(project=project, name__in=names)}
    part: Part = []
    size = 0
    for item in items:
        data = _read_image_data(item, files)
        own = sum(map(len, data.values()))
        if part and size + own > MOST_IMAGE_BYTES:
            yield part
            part, size = [], 0
        part.append((item, _build_record(project, item, files), data))
        size += own
    if part:
        yield part


def _build_record(project: Project, item: Item, files: Mapping[str, ImageFile]) -> ItemRecord:
    def image(name: str) -> Image:
        file = files.get(name)
        return Image(name=name, width=file.width, height=file.height) if file else Image(name=name)

    return ItemRecord(
        external_id=item.external_id,
        kind=get_kind(project),
        program=item.program,
        text=item.text,
        passage=item.passage,
        tokens=item.tokens,
        images=tuple(map(image, item.images)),
    )


def _read_image_data(item: Item, files: Mapping[str, ImageFile]) -> dict[str, str]:
    """Return the images as data addresses, because a backend cannot log in."""
    data = {}
    for key, name in zip(list_object_names("boxes", len(item.images)), item.images, strict=False):
        file = files.get(name)
        if file is not None and file.path:
            kind = mimetypes.guess_type(file.path)[0] or "application/octet-stream"
            data[key] = f"data:{kind};base64,{base64.b64encode(read_image(file.path)).decode()}"
    return data


def _build_suggestion(record: ItemRecord, answer: Prediction | Problem) -> SystemRecord | ItemError:
    if isinstance(answer, Problem):
        return ItemError(id=record.external_id, error="prediction_failed", message=answer.message)
    try:
        document = build_predicted_document(record, answer.result)
    except ValueError as error:
        message = format_first_error(error) if isinstance(error, ValidationError) else str(error)
        return ItemError(id=record.external_id, error="invalid_answer", message=message)
    marks = {node: layer.objects for node, layer in document.layers.items() if layer.objects}
    score = None if answer.score is None else min(max(answer.score, 0.0), 1.0)
    return SystemRecord(id=record.external_id, marks=marks, score=score)
