"""Import model outputs, and note which of them annotators saw."""

from collections.abc import Collection, Iterable, Sequence
from typing import Any

from django.db import transaction
from django.utils.translation import gettext as _

from accounts.models import User
from analysis.faithfulness.examples import normalise_module_name
from analysis.programs import Program
from annotation.actions import audit
from annotation.actions.bulk_insert import as_json, check_storable
from annotation.actions.data import BATCH
from annotation.content.operations import check_document
from annotation.content.schemas import Document, Layer, ModuleOutput, SystemRecord
from annotation.errors import BadEdit, Conflict
from annotation.models import Annotation, Item, Project, SystemOutput
from annotation.parsed_items import build_subject, parse_item_program
from annotation.queries.outputs import list_outputs_in_use
from foundation.batches import cut_batches
from foundation.imports.findings import Findings


@transaction.atomic
def import_outputs(
    *,
    records: Iterable[SystemRecord],
    project: Project,
    system: str,
    revision: str,
    findings: Findings | None = None,
    by: User | None = None,
    dry_run: bool = False,
) -> int:
    """Store a system's outputs for items; return how many are new.

    ``findings`` are those of the reader; without them the first mistake is raised. A dry run stores nothing
    and leaves refusals in the findings.

    Raises:
        Refused: The file has mistakes; nothing is stored.
        Conflict: An ID is not in the project, an output does not fit its item, or the revision has other
            outputs for it. Nothing is stored then.
    """
    # Two concurrent imports of the same outputs count as one.
    Project.objects.select_for_update(no_key=True).get(pk=project.pk)
    check_storable(system, (system, revision), ())
    findings = findings if findings is not None else Findings()
    added = 0
    for batch in cut_batches(findings.read_until_broken(records), BATCH):
        added += _import_batch(batch, project, system, revision, findings)
    if dry_run:
        transaction.set_rollback(True)
        return added
    findings.check()
    if added:
        audit.record(
            project=project,
            kind="outputs_imported",
            by=by,
            data={"system": system, "revision": revision, "added": added},
        )
    return added


def _import_batch(
    batch: Sequence[SystemRecord], project: Project, system: str, revision: str, findings: Findings
) -> int:
    rows = project.items.filter(external_id__in=[record.id for record in batch])
    needed = ("external_id", "program", "images", "tokens", "passage")
    items = {item.external_id: item for item in rows.only(*needed)}
    stored = SystemOutput.objects.filter(item__in=items.values(), system=system, revision=revision)
    there = {record.item_id: record for record in stored}
    new = []
    for record in batch:
        try:
            if record.id not in items:
                raise Conflict(f"{record.id}: the project {project.slug!r} has no item of this id")
            item = items[record.id]
            columns = build_output_columns(record, item, project.kind)
            same = there.get(item.pk)
            if same is None:
                new.append(SystemOutput(item=item, system=system, revision=revision, **columns))
                there[item.pk] = new[-1]
            elif any(getattr(same, name) != value for name, value in columns.items()):
                message = (
                    f"{system}@{revision} has another output for this item already; use another revision"
                )
                raise Conflict(f"{record.id}: {message}")
        except Conflict as error:
            findings.refuse_entry(record.id, error)
    SystemOutput.objects.bulk_create(new)
    return len(new)


def build_output_columns(record: SystemRecord, item: Item, kind: str) -> dict[str, Any]:
    """Return the column values of an output.

    Raises:
        Conflict: Names the item and the step that does not fit.
    """
    program, subject = parse_item_program(item, kind), build_subject(item, kind)
    layers = {node: Layer(state="done", objects=objects) for node, objects in record.marks.items()}
    try:
        marks = check_document(Document(layers=layers), program, subject).model_dump(mode="json")["layers"]
    except BadEdit as error:
        raise Conflict(f"{record.id}: marks: {error.field}: {error}") from error
    modules = [
        _check_output(record, output, item, kind) for output in _match_outputs_to_nodes(record, item, kind)
    ]
    columns = {
        "proposals": [[list(box) for box in image] for image in record.proposals],
        "modules": [module.model_dump(mode="json", exclude_defaults=True) for module in modules],
        "answer": record.answer,
        "marks": {node: layer["objects"] for node, layer in marks.items() if layer["objects"]},
        "score": record.score,
    }
    check_storable(record.id, (), [as_json(columns, record.id)])
    return columns


def _match_outputs_to_nodes(record: SystemRecord, item: Item, kind: str) -> list[ModuleOutput]:
    """Return outputs with the index and module name of their nodes."""
    program = parse_item_program(item, kind)
    left = {module: _find_nodes(program, module) for module in {node.module for node in program.nodes}}
    placed = []
    for position, output in enumerate(record.modules):
        module = normalise_module_name(output.module)
        index = output.index
        if index is None:
            if not left.get(module):
                raise Conflict(f"{record.id}: modules.{position}: the program has no further {module!r}")
            index = left[module].pop(0)
        placed.append(output.model_copy(update={"index": index, "module": module}))
    if len({output.index for output in placed}) != len(placed):
        raise Conflict(f"{record.id}: modules: a step has two outputs")
    return placed


def _find_nodes(program: Program, module: str) -> list[int]:
    return [node.index for node in program.nodes if node.module == module]


def _check_output(record: SystemRecord, output: ModuleOutput, item: Item, kind: str) -> ModuleOutput:
    """Return an output that fits the item.

    Raises:
        Conflict: Names item and step.
    """
    nodes, index = parse_item_program(item, kind).nodes, output.index
    assert index is not None  # `_match_outputs_to_nodes` set it
    where = f"{record.id}: step {index}"
    if index >= len(nodes) or nodes[index].module != output.module:
        there = nodes[index].module if index < len(nodes) else "not there"
        raise Conflict(f"{where}: the output is of {output.module!r}, but the step is {there}")
    if output.probabilities and kind == "boxes":
        if len(record.proposals) != len(item.images):
            count = len(item.images)
            raise Conflict(
                f"{record.id}: proposals: the item has {count} images, not {len(record.proposals)}"
            )
        total = sum(len(boxes) for boxes in record.proposals)
        if len(output.probabilities) != total:
            given = f"{len(output.probabilities)} probabilities for {total} proposals"
            raise Conflict(f"{where}: probabilities: there are {given}")
    if output.attention and len(output.attention) != len(item.tokens):
        given = f"{len(output.attention)} values for {len(item.tokens)} tokens"
        raise Conflict(f"{where}: attention: there are {given}")
    if (output.attention and kind == "boxes") or (output.probabilities and kind == "spans"):
        raise Conflict(f"{where}: boxes have probabilities of proposals, spans an attention over tokens")
    return output


@transaction.atomic
def delete_outputs(*, project: Project, system: str, revision: str, by: User) -> int:
    """Delete imported outputs of a revision; return their number.

    Raises:
        Conflict: A run of this site made them, or an annotator saw one, which the annotation records.
    """
    Project.objects.select_for_update(no_key=True).get(pk=project.pk)
    wanted = {"system": system, "revision": revision}
    outputs = SystemOutput.objects.filter(item__project=project, **wanted)
    # Locked, so that nobody notes one of them meanwhile (`note_shown`).
    opened = Annotation.objects.filter(item__in=outputs.values("item")).order_by("pk")
    list(opened.select_for_update(no_key=True).values_list("pk", flat=True))
    if f"{system}@{revision}" in list_outputs_in_use(project):
        raise Conflict(
            _("A run of this site made these outputs, or annotators have seen some; they cannot be deleted.")
        )
    number, _by_model = outputs.delete()
    if number:
        audit.record(project=project, kind="outputs_deleted", by=by, data={**wanted, "outputs": number})
    return number


@transaction.atomic
def note_shown(*, annotation: Annotation, outputs: Collection[str], by: User) -> None:
    """Note on an annotation which model outputs its annotator sees.

    Views by reviewers change nothing.

    Args:
        annotation: The annotation.
        outputs: Each output as ``system@revision``.
        by: The viewer.

    Raises:
        Conflict: The item has no such output.
    """
    if by.pk != annotation.annotator_id:
        return
    held = Annotation.objects.select_for_update(of=("self",), no_key=True).get(pk=annotation.pk)
    stored = SystemOutput.objects.filter(item=held.item_id).values_list("system", "revision")
    if unknown := set(outputs) - {f"{system}@{revision}" for system, revision in stored}:
        raise Conflict(f"the item has no output of {min(unknown)}")
    held.predictions_shown = sorted({*outputs, *held.predictions_shown})
    held.save(update_fields=["predictions_shown"])
