"""What systems put out: brought in, checked against the items, and noted where a person saw it."""

from collections.abc import Iterable, Sequence
from typing import Any

from django.db import transaction

from accounts.models import User
from analysis.faithfulness.examples import canonical
from analysis.programs import Program
from annotation.actions import audit
from annotation.actions.bulk_insert import as_json, check_storable
from annotation.actions.data import batches
from annotation.errors import Conflict
from annotation.models import Annotation, Item, Project, SystemOutput
from annotation.parsed_items import program_of
from annotation.schemas import ModuleOutput, SystemRecord


@transaction.atomic
def import_outputs(
    *,
    records: Iterable[SystemRecord],
    project: Project,
    system: str,
    revision: str,
    by: User | None = None,
) -> int:
    """Store what a system put out for items of a project; returns how many. The same again changes nothing.

    Raises Conflict when an id is not in the project, an output does not fit its item, or the revision has
    other outputs for it already; and whatever ``records`` raises. Nothing is stored then.
    """
    # The same outputs twice at once are one import.
    Project.objects.select_for_update(no_key=True).get(pk=project.pk)
    check_storable(system, (system, revision), ())
    added = 0
    for batch in batches(records):
        added += _import_batch(batch, project, system, revision)
    if added:
        audit.record(
            project=project,
            kind="outputs_imported",
            by=by,
            data={"system": system, "revision": revision, "added": added},
        )
    return added


def _import_batch(batch: Sequence[SystemRecord], project: Project, system: str, revision: str) -> int:
    found = project.items.filter(external_id__in=[one.id for one in batch])
    items = {item.external_id: item for item in found.only("external_id", "program", "images", "tokens")}
    stored = SystemOutput.objects.filter(item__in=items.values(), system=system, revision=revision)
    there = {one.item_id: one for one in stored}
    new = []
    for one in batch:
        if one.id not in items:
            raise Conflict(f"{one.id}: the project {project.slug!r} has no item of this id")
        item = items[one.id]
        columns = columns_of(one, item, project.kind)
        same = there.get(item.pk)
        if same is None:
            new.append(SystemOutput(item=item, system=system, revision=revision, **columns))
            there[item.pk] = new[-1]
        elif any(getattr(same, name) != value for name, value in columns.items()):
            message = f"{system}@{revision} has put out something else for it before; name another revision"
            raise Conflict(f"{one.id}: {message}")
    SystemOutput.objects.bulk_create(new)
    return len(new)


def columns_of(one: SystemRecord, item: Item, kind: str) -> dict[str, Any]:
    """The column values of an output. Raises Conflict, which names item and step, where it does not fit."""
    modules = [_fitted(one, place, item, kind) for place in _placed(one, item, kind)]
    columns = {
        "proposals": [[list(box) for box in image] for image in one.proposals],
        "modules": [module.model_dump(mode="json", exclude_defaults=True) for module in modules],
        "answer": one.answer,
    }
    check_storable(one.id, (), [as_json(columns, one.id)])
    return columns


def _placed(one: SystemRecord, item: Item, kind: str) -> list[ModuleOutput]:
    """The outputs, each with the index of its node and the module's name as programs write it."""
    program = program_of(item, kind)
    left = {module: _nodes(program, module) for module in {node.module for node in program.nodes}}
    placed = []
    for place, output in enumerate(one.modules):
        module = canonical(output.module)
        index = output.index
        if index is None:
            if not left.get(module):
                raise Conflict(f"{one.id}: modules.{place}: the program has no further {module!r}")
            index = left[module].pop(0)
        placed.append(output.model_copy(update={"index": index, "module": module}))
    if len({output.index for output in placed}) != len(placed):
        raise Conflict(f"{one.id}: modules: a step has two outputs")
    return placed


def _nodes(program: Program, module: str) -> list[int]:
    return [node.index for node in program.nodes if node.module == module]


def _fitted(one: SystemRecord, output: ModuleOutput, item: Item, kind: str) -> ModuleOutput:
    """The output, where it fits the item. Raises Conflict, which names item and step."""
    nodes, index = program_of(item, kind).nodes, output.index
    assert index is not None  # placed before
    where = f"{one.id}: step {index}"
    if index >= len(nodes) or nodes[index].module != output.module:
        there = nodes[index].module if index < len(nodes) else "not there"
        raise Conflict(f"{where}: the output is of {output.module!r}, but the step is {there}")
    if output.probabilities and kind == "boxes":
        if len(one.proposals) != len(item.images):
            count = len(item.images)
            raise Conflict(f"{one.id}: proposals: the item has {count} images, not {len(one.proposals)}")
        total = sum(len(boxes) for boxes in one.proposals)
        if len(output.probabilities) != total:
            given = f"{len(output.probabilities)} probabilities for {total} proposals"
            raise Conflict(f"{where}: probabilities: there are {given}")
    if output.attention and len(output.attention) != len(item.tokens):
        given = f"{len(output.attention)} values for {len(item.tokens)} tokens"
        raise Conflict(f"{where}: attention: there are {given}")
    if (output.attention and kind == "boxes") or (output.probabilities and kind == "spans"):
        raise Conflict(f"{where}: boxes have probabilities of proposals, spans an attention over tokens")
    return output


def note_shown(*, annotation: Annotation, predictions: Sequence[dict[str, Any]] | None, to: int) -> None:
    """Note on a work which systems' outputs its annotator had before their eyes; kept for ever.

    ``to`` is the id of the user who sees them: what a reviewer sees changes nothing.
    """
    shown = {f"{one['system']}@{one['revision']}" for one in predictions or ()}
    if to != annotation.annotator_id or shown <= set(annotation.predictions_shown):
        return
    with transaction.atomic():  # only where there is something to write: most reads change nothing
        held = Annotation.objects.select_for_update(of=("self",), no_key=True).get(pk=annotation.pk)
        held.predictions_shown = sorted(shown | set(held.predictions_shown))
        held.save(update_fields=["predictions_shown"])
    annotation.predictions_shown = held.predictions_shown
