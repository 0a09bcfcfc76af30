"""Simulated annotators draw by their behaviour and work as people do.

The site stores what it acknowledged.
"""

import random
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from accounts.models import User
from analysis.programs import parse
from annotation.actions import assignments, editing
from annotation.actions.bots import enlist_bots, retire_bots
from annotation.actions.data import import_items
from annotation.bots import BEHAVIOURS, Answer, Ask, Behaviour, Bot, BotError, Plan, make_bots, walk
from annotation.bots.drawing import Sheet, build_edits, draw
from annotation.content.completeness import open_nodes
from annotation.content.operations import Edit, apply
from annotation.content.schemas import Document, Kind
from annotation.models import Annotation, Item, Operation, Project
from annotation.queries.annotations import build_program_tree
from annotation.queries.bots import count_stored_operations, find_submitted_annotations, read_current_gold
from foundation.behaviour_mix import parse_mix
from tests.annotation.factories import (
    BOXES,
    PASSAGE,
    PROGRAM,
    SPANS,
    SPANS_PROGRAM,
    box,
    make_member,
    make_project,
    make_record,
    operation,
    span,
)

PERFECT = Behaviour(0, 0, jitter=0, gives_up=0, reloads=0, batch=1)
GOLD: dict[Kind, dict[str, Any]] = {
    "boxes": {"layers": {
        "3": {"state": "done", "objects": [box("x"), box("y", at=0.6, image=1), box("z", at=0.3)]},
        "2": {"state": "done", "objects": [{"id": "p", "ref": "x"}, {"id": "q", "ref": "z"}]},
    }},
    "spans": {"layers": {
        "2": {"state": "done", "objects": [span("x", 0, 4), span("y", 5, 9)]},
        "1": {"state": "done", "objects": [{"id": "p", "ref": "y"}]},
    }},
}  # fmt: skip
PROGRAMS: dict[Kind, str] = {"boxes": PROGRAM, "spans": SPANS_PROGRAM}
SUBJECTS = {"boxes": BOXES, "spans": SPANS}


def sheet_of(kind: Kind) -> Sheet:
    state = {
        "item": {"kind": kind, "images": [{}, {}] if kind == "boxes" else [], "passage": PASSAGE,
                 "tokens": [list(token) for token in SPANS.tokens]},
        "program": build_program_tree(parse(PROGRAMS[kind], kind=kind)),
    }  # fmt: skip
    return Sheet.of(state)


def drawn(kind: Kind, behaviour: Behaviour, seed: int, *, gold: bool = True) -> dict[int, Any]:
    document = Document.model_validate(GOLD[kind]) if gold else None
    return draw(sheet_of(kind), document, behaviour, random.Random(seed))


def applied(kind: Kind, layers: dict[int, Any]) -> Document:
    """The document that a bot's edits add up to, by the site's own rules."""
    document, program = Document(), parse(PROGRAMS[kind], kind=kind)
    for edit in build_edits(layers):
        document, _inverse = apply(document, Edit.model_validate(edit), program, SUBJECTS[kind])
    assert open_nodes(document, program) == []
    return document


@pytest.mark.parametrize("kind", ["boxes", "spans"])
def test_a_perfect_bot_draws_the_gold(kind: Kind) -> None:
    document = applied(kind, drawn(kind, PERFECT, seed=1))
    gold = Document.model_validate(GOLD[kind])
    for index, layer in gold.layers.items():
        mine = document.layers[index].objects
        assert len(mine) == len(layer.objects)
        if kind == "spans" and index == 2:
            assert [mark.span for mark in mine] == [mark.span for mark in layer.objects]


@pytest.mark.parametrize("gold", [True, False])
@pytest.mark.parametrize("kind", ["boxes", "spans"])
@pytest.mark.parametrize("name", list(BEHAVIOURS))
def test_whatever_a_bot_draws_the_rules_of_editing_allow(name: str, kind: Kind, gold: bool) -> None:
    for seed in range(40):
        applied(kind, drawn(kind, BEHAVIOURS[name], seed, gold=gold))


def test_the_sloppy_stray_further_from_the_gold_than_the_careful() -> None:
    def objects(name: str) -> int:
        return sum(len(drawn("boxes", BEHAVIOURS[name], seed)[3]) for seed in range(300))

    def shifts(name: str) -> list[float]:
        gold = box("x")["box"]
        layers = [drawn("boxes", BEHAVIOURS[name], seed)[3] for seed in range(300)]
        return [abs(layer[0]["box"][0] - gold[0]) for layer in layers if len(layer) == 3]

    assert objects("careful") > 0.95 * 900
    assert objects("sloppy") < objects("careful")
    assert sum(shifts("sloppy")) / len(shifts("sloppy")) > 2 * sum(shifts("careful")) / len(shifts("careful"))


def test_the_seed_decides_what_is_drawn() -> None:
    assert drawn("spans", BEHAVIOURS["sloppy"], 3) == drawn("spans", BEHAVIOURS["sloppy"], 3)
    assert any(
        drawn("spans", BEHAVIOURS["sloppy"], seed) != drawn("spans", BEHAVIOURS["sloppy"], 3)
        for seed in range(4, 12)
    )


def test_a_mix_names_behaviours() -> None:
    assert parse_mix("careful=3,offline=1", BEHAVIOURS) == {"careful": 0.75, "offline": 0.25}
    with pytest.raises(ValueError, match="there is careful, sloppy, fast, offline"):
        parse_mix("honest", BEHAVIOURS)
    crowd = make_bots(
        [(f"bot{n}", "") for n in range(8)], parse_mix("careful=3,offline=1", BEHAVIOURS), seed=1
    )
    assert sorted(bot.kind for bot in crowd) == ["careful"] * 6 + ["offline"] * 2


# --- on the site -------------------------------------------------------------------------------------------


def drive(bot: Bot, plan: Plan, *, before: Callable[[Ask], None] = lambda ask: None) -> None:
    """Walk with Django's test client: through the whole site, but no socket."""
    client, answer = Client(enforce_csrf_checks=True), None
    steps = walk(bot, plan)
    try:
        while True:
            step = steps.send(answer)
            answer = None
            if isinstance(step, Ask):
                before(step)
                answer = send_request(client, step)
    except StopIteration:
        return


def send_request(client: Client, ask: Ask) -> Answer:
    headers = {"X-CSRFToken": ask.token} if ask.token else {}
    if ask.method == "GET":
        response = client.get(ask.path)
    elif ask.form is not None:
        response = client.post(ask.path, ask.form, headers=headers)
    else:
        response = client.post(ask.path, ask.json, content_type="application/json", headers=headers)
    return Answer(response.status_code, response.headers.get("Location", ""), response.content)


@pytest.fixture
def quick_hash(settings: Any) -> None:
    """Hash passwords quickly.

    They are hashed slowly on purpose; here that would be most of the time.
    """
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]


@pytest.fixture
def project(db: None, quick_hash: None) -> Project:
    project = make_project()
    import_items(records=[make_record(f"i{n}", gold=GOLD["boxes"]) for n in range(6)], project=project)
    return project


def make_bot(project: Project, kind: str = "careful", seed: int = 1) -> Bot:
    ((name, password),) = enlist_bots(project=project, n=1)
    return Bot(name, password, kind, random.Random(seed))


def check_kept(project: Project, bot: Bot) -> None:
    """Check that the site stores what it acknowledged once, and no more."""
    stored = count_stored_operations(project, [bot.name])
    assert sorted(stored) == sorted(bot.saved)
    assert set(stored.values()) <= {1}
    assert find_submitted_annotations(project, [bot.name]) == set(bot.submitted)


@pytest.mark.parametrize("kind", list(BEHAVIOURS))
def test_it_works(project: Project, kind: str) -> None:
    bot = make_bot(project, kind, seed=5)
    drive(bot, Plan(project.slug, read_current_gold(project)))
    assert len(bot.submitted) == 6
    assert list(Item.objects.values_list("submitted", flat=True)) == [1] * 6
    check_kept(project, bot)


@pytest.mark.parametrize("kind", ["careful", "fast"])
def test_a_bot_stops_after_as_many_items_as_it_was_asked_for(project: Project, kind: str) -> None:
    bot = make_bot(project, kind)
    drive(bot, Plan(project.slug, most=2))
    assert len(bot.submitted) == 2
    assert not Annotation.objects.filter(status=Annotation.Status.RESERVED).exists()


def test_the_fast_get_the_next_item_as_they_hand_one_in(project: Project) -> None:
    bot, acts = make_bot(project, "fast"), []
    drive(
        bot, Plan(project.slug, read_current_gold(project), most=3), before=lambda ask: acts.append(ask.act)
    )
    login = ["login", "login", "project"]
    assert acts == [*login, "next", "open", "save", "submit", "save", "submit", "save", "submit"]
    assert not Annotation.objects.filter(status=Annotation.Status.RESERVED).exists()


def test_offline_bots_meet_their_other_tab_and_send_twice(project: Project) -> None:
    bot = make_bot(project, "offline", seed=4)
    drive(bot, Plan(project.slug, read_current_gold(project)))
    assert bot.conflicts > 0
    assert bot.repeated > 0
    assert Operation.objects.filter(edit__note="seen").count() == bot.conflicts
    check_kept(project, bot)


def test_what_is_given_back_is_taken_up_again(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(BEHAVIOURS, "sloppy", BEHAVIOURS["sloppy"]._replace(gives_up=0.4))
    bot = make_bot(project, "sloppy")
    drive(bot, Plan(project.slug, read_current_gold(project)))
    assert bot.released > 0
    assert len(bot.submitted) == 6
    check_kept(project, bot)


def test_a_begun_work_is_cleared_and_drawn_anew(project: Project) -> None:
    bot = make_bot(project)
    member = make_member(project)
    annotation = assignments.assign_next_annotation(member=member)
    begun = [
        operation(0, 3, put=[box("old"), box("older")]),
        operation(1, 2, put=[{"id": "c", "ref": "old"}]),
    ]
    editing.save_operations(annotation=annotation.pk, operations=begun, by=member.user)
    Annotation.objects.filter(pk=annotation.pk).update(annotator=User.objects.get(username=bot.name))
    drive(bot, Plan(project.slug, read_current_gold(project), most=1))
    annotation.refresh_from_db()
    assert annotation.status == Annotation.Status.SUBMITTED
    ids = [mark["id"] for layer in annotation.document["layers"].values() for mark in layer["objects"]]
    assert ids
    assert not {"old", "older", "c"} & set(ids)


def test_a_lost_place_is_no_error(project: Project) -> None:
    """The reservation expires during drawing, and another takes the item."""
    bot = make_bot(project)
    other = make_member(project)
    taken: list[Annotation] = []

    def steal(ask: Ask) -> None:
        if ask.act == "save" and not taken:
            Annotation.objects.update(reserved_until="2000-01-01T00:00Z")
            taken.append(assignments.assign_next_annotation(member=other))

    drive(bot, Plan(project.slug, read_current_gold(project)), before=steal)
    assert bot.lost == 1
    assert len(bot.submitted) == 5
    check_kept(project, bot)


def test_an_unexpected_answer_ends_the_bot_with_a_sentence(project: Project) -> None:
    bot = make_bot(project)
    with pytest.raises(BotError, match="/annotate/other/ answered with status 404"):
        drive(bot, Plan("other"))


def test_bots_leave_no_password_behind(project: Project) -> None:
    bot = make_bot(project)
    retire_bots(names=[bot.name])
    with pytest.raises(BotError, match="POST /accounts/login/"):
        drive(bot, Plan(project.slug))


def test_the_same_bots_are_taken_again(project: Project) -> None:
    first = enlist_bots(project=project, n=2)
    assert [name for name, _ in enlist_bots(project=project, n=3)][:2] == [name for name, _ in first]
    assert project.memberships.count() == 3
