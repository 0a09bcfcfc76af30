"""Change projects, members, guidelines, shortcuts and webhooks."""

from collections.abc import Mapping, Sequence
from typing import Any

from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import F, Max, QuerySet
from django.db.models.functions import Greatest

from accounts.actions import audit as workspace_audit
from accounts.models import User, Workspace
from annotation.actions import audit
from annotation.content.label_changes import LabelChange, check_extends, drop_changes_of_names
from annotation.content.labels import LabelTask
from annotation.errors import Conflict
from annotation.models import Delivery, Guideline, Item, KeyBindings, Membership, Project, Role, Webhook
from annotation.models.projects import LOWEST_RANK
from foundation.database.new_rows import store_new
from foundation.messages import extract_message, say
from jobs.actions import webhooks


@transaction.atomic
def create_project(
    *,
    slug: str,
    title: str,
    kind: str,
    workspace: Workspace,
    by: User | None,
    labels: LabelTask | None = None,
    **options: object,
) -> Project:
    """Create a project in a workspace, with its creator as manager.

    ``labels`` make it a project of a plain task; ``options`` are fields of Project.

    Raises:
        ValidationError: Names the field that is wrong.
    """
    stored = labels.model_dump(mode="json") if labels is not None else {}
    if labels is not None and labels.kind not in (None, kind):
        raise ValidationError({"kind": f"the label configuration marks {labels.kind}, not {kind}"})
    project = Project(
        workspace=workspace, slug=slug, title=title, kind=kind, labels=stored, created_by=by, **options
    )
    store_new(project)
    audit.record(project=project, kind="project_created", by=by, data={"kind": kind})
    if by is not None:
        set_member(project=project, user=by, role=Role.MANAGER, by=by)
    return project


@transaction.atomic
def replace_labels(*, project: Project, labels: LabelTask, kind: str, by: User | None) -> Project:
    """Give a project without items another label configuration.

    Raises:
        Conflict: It has items, whose marks and answers refer to the labels.
    """
    if project.items.exists():
        raise Conflict(say("the project has items already, so its labels stay; make another project"))
    project.kind, project.labels = kind, labels.model_dump(mode="json")
    project.save(update_fields=["kind", "labels"])
    audit.record(project=project, kind="labels_replaced", by=by, data={"kind": kind})
    return project


@transaction.atomic
def change_labels(*, project: Project, labels: LabelTask, by: User) -> Project:
    """Change the label configuration of a project.

    Once the project has items, whose marks refer to the labels, the new configuration must extend the old.

    Raises:
        Conflict: It does not, or the project has programs.
    """
    # Lock the project, so that no import adds items with the old labels.
    project = Project.objects.select_for_update(no_key=True).get(pk=project.pk)
    if not project.items.exists():
        return replace_labels(project=project, labels=labels, kind=labels.kind or project.kind, by=by)
    if not project.labels:
        raise Conflict(say("the items of the project have programs, so it takes no labels"))
    before = LabelTask.model_validate(project.labels)
    try:
        check_extends(before, labels)
    except ValueError as error:
        raise Conflict(extract_message(error)) from error
    project.labels = labels.model_dump(mode="json")
    project.label_changes = _drop_obsolete_changes(project.label_changes, labels)
    project.save(update_fields=["labels", "label_changes"])
    if labels.text != before.text:
        lock(project.items.all()).update(program=labels.text)
    pairs = zip(before.layers, labels.layers, strict=True)
    added = [name for old, new in pairs for name in new.names if name not in old.names]
    audit.record(
        project=project, kind="labels_changed", by=by, data={"added": ", ".join(added)} if added else {}
    )
    return project


def _drop_obsolete_changes(changes: Sequence[Mapping[str, Any]], labels: LabelTask) -> list[Any]:
    """Leave out changes of labels whose old name is a label again."""
    kept = [LabelChange.model_validate(change) for change in changes]
    for node, layer in enumerate(labels.layers, start=1):
        kept = drop_changes_of_names(kept, node, "", layer.names)
        for question in layer.questions:
            kept = drop_changes_of_names(kept, node, question.name, question.names)
    return [change.model_dump(mode="json") for change in kept]


@transaction.atomic
def change_settings(*, project: Project, by: User, **options: object) -> Project:
    """Change fields of a project.

    Raises:
        ValidationError: Names the field that is wrong.
    """
    before = {name: getattr(project, name) for name in options}
    for name, value in options.items():
        setattr(project, name, value)
    project.full_clean()
    project.save(update_fields=list(options))
    changed = {
        name: [str(before[name]), str(value)] for name, value in options.items() if before[name] != value
    }
    audit.record(project=project, kind="settings_changed", by=by, data=changed)
    return project


@transaction.atomic
def set_member(
    *,
    project: Project,
    user: User,
    role: Role,
    by: User | None,
    active: bool = True,
    blind: bool | None = None,
) -> Membership:
    """Share the project with a person, change their role, or end the share.

    ``blind`` says whether they work without model outputs; None leaves that as it is.

    The row stays when the share ends: it holds the person's state as an annotator.
    """
    before = Membership.objects.select_for_update(no_key=True).filter(project=project, user=user).first()
    member, _made = Membership.objects.update_or_create(
        project=project,
        user=user,
        defaults={"role": role, "active": active} | ({} if blind is None else {"blind": blind}),
    )
    had = before.shared_roles if before is not None else frozenset()
    has = member.shared_roles
    for kind, changed in (("role_ended", had - has), ("role_given", has - had)):
        for shared_role in changed:
            data = {"role": str(shared_role), "object": project.slug}
            workspace_audit.record(kind=kind, by=by, workspace=project.workspace, subject=user, data=data)
    audit.record(
        project=project,
        kind="member_set",
        by=by,
        data={"member": user.username, "role": str(role), "active": active, "blind": member.blind},
    )
    return member


@transaction.atomic
def set_annotators_per_item(*, project: Project, annotators: int, by: User) -> int:
    """Change the annotators per item; return how many items changed.

    Existing assignments stay: an item wants at least as many annotators as it has.
    """
    change_settings(project=project, by=by, annotators_per_item=annotators)
    lock(Membership.objects.filter(project=project)).update(scanned_to=LOWEST_RANK)
    items = project.items.filter(purpose=Item.Purpose.ORDINARY).exclude(annotators_wanted=annotators)
    return lock(items).update(annotators_wanted=Greatest(annotators, F("assigned")))


def lock(rows: QuerySet[Any]) -> QuerySet[Any]:
    """Lock rows by key, as `annotation.actions.assignments` does; return them."""
    held = rows.select_for_update(no_key=True).order_by("pk").values_list("pk", flat=True)
    return rows.model._default_manager.filter(pk__in=held)


@transaction.atomic
def write_guideline(*, project: Project, module: str, text: str, by: User) -> Guideline:
    """Add a version of a module's guideline ("" for the project's own).

    The same text again changes nothing.
    """
    Project.objects.select_for_update(no_key=True).get(pk=project.pk)  # lock, so that versions stay unique
    versions = project.guidelines.filter(module=module)
    last = versions.order_by("-version").first()
    if last is not None and last.text == text:
        return last
    number = (versions.aggregate(last=Max("version"))["last"] or 0) + 1
    guideline = Guideline.objects.create(
        project=project, module=module, version=number, text=text, created_by=by
    )
    audit.record(project=project, kind="guideline_written", by=by, data={"module": module, "version": number})
    return guideline


def bind_keys(*, user: User, keys: Mapping[str, str]) -> KeyBindings:
    """Store a person's keyboard shortcuts."""
    bindings, _made = KeyBindings.objects.update_or_create(user=user, defaults={"keys": dict(keys)})
    return bindings


def add_webhook(*, project: Project, url: str, kinds: Sequence[str], by: User) -> Webhook:
    """Add a webhook with a new secret that signs its deliveries.

    Raises:
        ValidationError: The address is not valid, or not public.
    """
    webhooks.check_url(url)
    with transaction.atomic():
        hook = webhooks.store_webhook(Webhook(project=project), url=url, kinds=kinds, by=by)
        audit.record(project=project, kind="webhook_added", by=by, data={"url": url, "kinds": list(kinds)})
    return hook


@transaction.atomic
def end_webhook(*, webhook: Webhook, by: User) -> None:
    """End a webhook. Its past deliveries stay on record."""
    if webhooks.deactivate(webhook, Delivery):
        audit.record(project=webhook.project, kind="webhook_ended", by=by, data={"url": webhook.url})
