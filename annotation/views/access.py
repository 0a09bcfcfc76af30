"""Fetch rows for a request and check access to them.

Missing rows and other people's rows both give 404, so that IDs reveal nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any

from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse

from accounts.policy_table import Act
from accounts.rights.access import NOT_THERE, require_existing, require_user
from accounts.rights.roles import explain_refusal
from annotation.models import Annotation, Batch, Comment, Item, Membership
from annotation.policies import NotAllowed, can_begin, can_see, check_working, collect_roles, list_acts, may
from annotation.queries.annotations import find_annotation_with_item
from annotation.queries.members import find_membership, find_membership_of_annotation
from annotation.queries.records import list_visible_items


def member_or_404(request: HttpRequest, slug: str, act: Act = Act.PROJECT_SEE) -> Membership:
    """Return the person in a project, whose roles allow the act.

    Without any role on the project it is 404, without the right 403.
    """
    member = require_existing(find_membership(require_user(request), slug))
    _require(member, act)
    return member


def _require(member: Membership, act: Act) -> None:
    if not may(member, act):
        raise PermissionDenied(explain_refusal(collect_roles(member), act))


def annotation_or_404(request: HttpRequest, pk: int, *, item: bool = False) -> tuple[Annotation, Membership]:
    """Return an annotation that the person may see, and their membership.

    The annotation of somebody else is not there for annotators, because annotation is blind. It has only the
    columns that say whose it is, or with ``item`` all of them and its item.
    """
    visible = require_existing(find_membership_of_annotation(require_user(request), pk))
    member, reference = visible
    _require(member, Act.PROJECT_SEE)
    if not can_see(member, reference):
        raise Http404(str(NOT_THERE))
    annotation = find_annotation_with_item(pk) if item else reference
    assert annotation is not None  # annotations are never deleted
    annotation.project = member.project
    return annotation, member


@contextmanager
def refuse_with_404(request: HttpRequest, pk: int) -> Iterator[None]:
    """Turn a refusal into 404 if the person may not see the annotation.

    Otherwise the message names the right that is missing, if one is.
    """
    try:
        yield
    except NotAllowed:
        annotation, member = annotation_or_404(request, pk)
        check_working(member, annotation)
        raise


def project_item_or_404(member: Membership, pk: int) -> Item:
    """Return an item that the member may see; annotators only assigned ones."""
    return require_existing(list_visible_items(member).select_related("project").filter(pk=pk).first())


def batch_or_404(member: Membership, pk: int) -> Batch:
    """Return a batch of the member's project."""
    return require_existing(
        member.project.batches.select_related("annotator", "project").filter(pk=pk).first()
    )


def comment_or_404(annotation: Annotation, pk: int) -> Comment:
    """Return a comment of an annotation."""
    return require_existing(annotation.comments.select_related("by").filter(pk=pk).first())


def members_only(act: Act = Act.PROJECT_SEE) -> Callable[..., Any]:
    """Let people through whose roles allow the act.

    The view gets the person in the project instead of the slug.
    """

    def decorate(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
        @login_required
        @wraps(view)
        def check_access(request: HttpRequest, slug: str, *args: object, **kwargs: object) -> HttpResponse:
            member = member_or_404(request, slug, act)
            # The tabs of every page of the project show what the person may do there.
            request.may = list_acts(member)  # type: ignore[attr-defined]
            request.gets_items = can_begin(member)  # type: ignore[attr-defined]
            return view(request, member, *args, **kwargs)

        return check_access

    return decorate
