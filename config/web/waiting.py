"""The acts that wait for a person on the start page."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from accounts.models import User
from accounts.policy_table import Act
from annotation.models import Membership
from annotation.policies import may
from annotation.queries.review import count_to_settle
from studyapp.queries.access import list_runs_to_judge, reach_of
from studyapp.queries.design.correctness import count_waiting


class WaitingAct(NamedTuple):
    """An act that waits for a person, with the link that leads to it."""

    text: str
    link: str
    address: str


def list_waiting_acts(user: User, members: Iterable[Membership]) -> Iterator[WaitingAct]:
    """Yield what waits for a user in these projects, and the answers to judge."""
    for member in members:
        project = member.project
        names = {"title": project.title}
        if project.returned:  # type: ignore[attr-defined]  # annotated by `memberships`
            number = project.returned  # type: ignore[attr-defined]
            text = ngettext(
                "%(n)s annotation of “%(title)s” came back to you.",
                "%(n)s annotations of “%(title)s” came back to you.",
                number,
            )
            address = reverse("annotation:project", args=[project.slug])
            yield WaitingAct(text % {"n": number, **names}, _("Revise"), address)
        if may(member, Act.ANNOTATION_SETTLE) and (number := count_to_settle(project)):
            text = ngettext(
                "%(n)s item of “%(title)s” waits for a decision.",
                "%(n)s items of “%(title)s” wait for a decision.",
                number,
            )
            address = reverse("annotation:review", args=[project.slug])
            yield WaitingAct(text % {"n": number, **names}, _("Review"), address)
    yield from _find_answers_to_judge(user)


def _find_answers_to_judge(user: User) -> Iterator[WaitingAct]:
    if Act.JUDGE not in reach_of(user).anywhere:
        return
    number = count_waiting(list_runs_to_judge(user), user)
    if number:
        text = ngettext("%(n)s answer waits for a judge.", "%(n)s answers wait for a judge.", number)
        yield WaitingAct(text % {"n": number}, _("Judge answers"), reverse("studyapp:correctness"))
