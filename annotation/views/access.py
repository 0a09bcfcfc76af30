"""Who is asking, and what they may see: the one place where rows are fetched for a request.

What is not there and what is none of the person's business both give 404, so that ids tell nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any

from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from accounts.models import User
from annotation.models import Annotation, Comment, Item, Membership, Role, Webhook
from annotation.policies import NotAllowed, can_see, has_role
from annotation.queries.annotations import annotation_with_item
from annotation.queries.members import membership, membership_at
from annotation.queries.records import annotations_for, items_for, webhooks

NOT_THERE = gettext_lazy("There is nothing here for you under this address.")


def user_of(request: HttpRequest) -> User:
    """The person who is logged in."""
    assert isinstance(request.user, User)  # the views here ask for a login first
    return request.user


def member_or_404(request: HttpRequest, slug: str, role: Role = Role.ANNOTATOR) -> Membership:
    """The person's membership in a project; 403 where their role does not reach."""
    member = membership(user_of(request), slug)
    if member is None:
        raise Http404(NOT_THERE)
    if not has_role(member, role):
        raise PermissionDenied(
            _("This page is for people with the role %(role)s in this project.") % {"role": role.label}
        )
    return member


def annotation_or_404(request: HttpRequest, pk: int, *, item: bool = False) -> tuple[Annotation, Membership]:
    """A work that the person may see: their own, or any of a project that they adjudicate.

    Of the work there is only what says whose it is, or with ``item`` all, and its item.
    """
    found = membership_at(user_of(request), pk)
    if found is None or not can_see(*found):
        raise Http404(NOT_THERE)
    member, reference = found
    annotation = annotation_with_item(pk) if item else reference
    assert annotation is not None  # works are never deleted
    annotation.project = member.project
    return annotation, member


@contextmanager
def or_404(request: HttpRequest, pk: int) -> Iterator[None]:
    """Turn what an action does not allow into 404 where the person may not even see the work."""
    try:
        yield
    except NotAllowed:
        annotation_or_404(request, pk)
        raise


def item_or_404(member: Membership, external_id: str) -> Item:
    """An item of the member's project."""
    item = member.project.items.filter(external_id=external_id).first()
    if item is None:
        raise Http404(NOT_THERE)
    return item


def project_item_or_404(member: Membership, pk: int) -> Item:
    """An item of the member's project that they may look at: annotators only those they were handed."""
    item = items_for(member).select_related("project").filter(pk=pk).first()
    if item is None:
        raise Http404(NOT_THERE)
    return item


def project_annotation_or_404(member: Membership, pk: int) -> Annotation:
    """A work of the member's project that they may look at: annotators only their own."""
    annotation = annotations_for(member).filter(pk=pk).first()
    if annotation is None:
        raise Http404(NOT_THERE)
    return annotation


def webhook_or_404(member: Membership, pk: int) -> Webhook:
    """A webhook of the member's project."""
    webhook = webhooks(member.project).filter(pk=pk).first()
    if webhook is None:
        raise Http404(NOT_THERE)
    return webhook


def comment_or_404(annotation: Annotation, pk: int) -> Comment:
    """A comment of a work."""
    found = annotation.comments.select_related("by").filter(pk=pk).first()
    if found is None:
        raise Http404(NOT_THERE)
    return found


def members_only(role: Role = Role.ANNOTATOR) -> Callable[..., Any]:
    """Let members with the role through, as the first argument after the request instead of the slug."""

    def decorate(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
        @login_required
        @wraps(view)
        def checked(request: HttpRequest, slug: str, *args: object, **kwargs: object) -> HttpResponse:
            return view(request, member_or_404(request, slug, role), *args, **kwargs)

        return checked

    return decorate
