"""Search over everything that a user may see."""

from typing import NamedTuple

from django.db.models import Q
from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from accounts.models import User
from accounts.policy import Act
from accounts.queries.people import read_people_page
from accounts.queries.workspaces import workspaces_of
from annotation.policies import may
from annotation.queries.members import memberships
from annotation.queries.records import items_for
from predictions.queries.rest import datasets_for, runs_for
from studyapp.queries.access import studies_of

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
        Group(_("Studies"), "studies", _studies(user, text)),
        Group(_("Annotation projects"), "annotation", _projects(user, text)),
        Group(_("Items"), "file", _items(user, text)),
        Group(_("Datasets"), "data", _datasets(user, text)),
        Group(_("Systems"), "systems", _runs(user, text)),
        Group(_("People"), "people", _people(user, text)),
    ]
    return [group for group in groups if group.hits]


def _studies(user: User, text: str) -> list[Hit]:
    rows = studies_of(user).filter(Q(title__icontains=text) | Q(slug__icontains=text)).order_by("-pk")
    return [
        Hit(study.title, study.slug, reverse("studyapp:staff_study", args=[study.slug]))
        for study in rows[:MOST]
    ]


def _projects(user: User, text: str) -> list[Hit]:
    projects = [member.project for member in memberships(user)]
    matching = [each for each in projects if text.lower() in f"{each.title} {each.slug}".lower()]
    return [
        Hit(each.title, each.slug, reverse("annotation:project", args=[each.slug]))
        for each in matching[:MOST]
    ]


def _items(user: User, text: str) -> list[Hit]:
    """Return items by their id, in the projects that the user reviews."""
    hits: list[Hit] = []
    for member in memberships(user):
        if len(hits) >= MOST or not may(member, Act.ANNOTATION_SETTLE):
            continue
        slug = member.project.slug
        # In the order and with the columns of an index: texts of items are long.
        rows = items_for(member).filter(external_id__istartswith=text).order_by("external_id")
        hits += [
            Hit(name, member.project.title, reverse("annotation:item", args=[slug, pk]))
            for pk, name in rows.values_list("pk", "external_id")[: MOST - len(hits)]
        ]
    return hits


def _datasets(user: User, text: str) -> list[Hit]:
    rows = datasets_for(user).filter(name__icontains=text).order_by("-pk")
    return [
        Hit(dataset.name, dataset.workspace.name, reverse("data:dataset", args=[dataset.pk]))
        for dataset in rows[:MOST]
    ]


def _runs(user: User, text: str) -> list[Hit]:
    """Return the newest runs of systems."""
    rows = runs_for(user).filter(system__name__icontains=text).order_by("-pk")
    return [Hit(run.system.name, run.dataset.name, reverse("data:run", args=[run.pk])) for run in rows[:MOST]]


def _people(user: User, text: str) -> list[Hit]:
    """Return the people of the workspaces that the user manages."""
    return [
        Hit(person.user.username, workspace.name, reverse("people:workspace", args=[workspace.slug]))
        for workspace in workspaces_of(user, Act.WORKSPACE_MANAGE)
        for person in read_people_page(workspace, search=text, size=MOST)[0]
    ][:MOST]
