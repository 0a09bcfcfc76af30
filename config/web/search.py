"""Search over everything that a user may see."""

from typing import NamedTuple

from django.db.models import Q
from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from accounts.models import User
from accounts.policy_table import Act
from accounts.queries.people import read_people_page
from accounts.queries.workspaces import select_workspaces
from annotation.policies import may
from annotation.queries.members import list_memberships
from annotation.queries.records import list_visible_items
from predictions.queries.rest import list_visible_datasets, list_visible_runs
from studyapp.queries.access import list_studies

MOST = 10  # of each kind


class Hit(NamedTuple):
    """An object that matches: its name, what stands beside it, and its page."""

    name: str
    note: str
    address: str


class Group(NamedTuple):
    """The matching objects of one kind."""

    title: str | Promise
    icon: str
    hits: list[Hit]


def search(user: User, text: str) -> list[Group]:
    """Return what a user may see whose name contains a text, by kind."""
    if not text:
        return []
    groups = [
        Group(_("Studies"), "studies", _search_studies(user, text)),
        Group(_("Annotation projects"), "annotation", _search_projects(user, text)),
        Group(_("Items"), "file", _search_items(user, text)),
        Group(_("Datasets"), "data", _search_datasets(user, text)),
        Group(_("Systems"), "systems", _search_runs(user, text)),
        Group(_("People"), "people", _search_people(user, text)),
    ]
    return [group for group in groups if group.hits]


def _search_studies(user: User, text: str) -> list[Hit]:
    rows = list_studies(user).filter(Q(title__icontains=text) | Q(slug__icontains=text)).order_by("-pk")
    return [
        Hit(study.title, study.slug, reverse("studyapp:staff_study", args=[study.slug]))
        for study in rows[:MOST]
    ]


def _search_projects(user: User, text: str) -> list[Hit]:
    projects = [member.project for member in list_memberships(user)]
    matching = [project for project in projects if text.lower() in f"{project.title} {project.slug}".lower()]
    return [
        Hit(project.title, project.slug, reverse("annotation:project", args=[project.slug]))
        for project in matching[:MOST]
    ]


def _search_items(user: User, text: str) -> list[Hit]:
    """Return items by their id, in the projects that the user reviews."""
    hits: list[Hit] = []
    for member in list_memberships(user):
        if len(hits) >= MOST or not may(member, Act.ANNOTATION_SETTLE):
            continue
        slug = member.project.slug
        # In the order and with the columns of an index: texts of items are long.
        rows = list_visible_items(member).filter(external_id__istartswith=text).order_by("external_id")
        hits += [
            Hit(name, member.project.title, reverse("annotation:item", args=[slug, pk]))
            for pk, name in rows.values_list("pk", "external_id")[: MOST - len(hits)]
        ]
    return hits


def _search_datasets(user: User, text: str) -> list[Hit]:
    rows = list_visible_datasets(user).filter(name__icontains=text).order_by("-pk")
    return [
        Hit(dataset.name, dataset.workspace.name, reverse("data:dataset", args=[dataset.pk]))
        for dataset in rows[:MOST]
    ]


def _search_runs(user: User, text: str) -> list[Hit]:
    """Return the newest runs of systems."""
    rows = list_visible_runs(user).filter(system__name__icontains=text).order_by("-pk")
    return [Hit(run.system.name, run.dataset.name, reverse("data:run", args=[run.pk])) for run in rows[:MOST]]


def _search_people(user: User, text: str) -> list[Hit]:
    """Return the people of the workspaces that the user manages."""
    return [
        Hit(person.user.username, workspace.name, reverse("people:workspace", args=[workspace.slug]))
        for workspace in select_workspaces(user, Act.WORKSPACE_MANAGE)
        for person in read_people_page(workspace, search=text, size=MOST)[0]
    ][:MOST]
