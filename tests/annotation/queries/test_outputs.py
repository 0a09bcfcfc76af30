"""Model outputs are scored against gold.

The tests compute figures by hand, and cover equal subtrees, missing outputs and shown ones.
"""

from typing import Any

import pytest

from annotation.actions.data import import_items
from annotation.actions.outputs import import_outputs, note_shown
from annotation.actions.projects import change_settings
from annotation.actions.review import bring_gold
from annotation.content.schemas import Document, SystemRecord
from annotation.errors import Conflict, NotFound
from annotation.models import Annotation, Item, Project, Role
from annotation.queries.outputs import compare, list_systems_with_outputs, score_faithfulness
from tests.annotation.factories import (
    box,
    make_annotation,
    make_items,
    make_member,
    make_project,
    make_record,
    make_user,
    span,
)
from tests.annotation.rest.test_annotations import client_of

pytestmark = [pytest.mark.django_db, pytest.mark.database]

BOX, ELSEWHERE = [0.1, 0.1, 0.3, 0.5], [0.6, 0.6, 0.9, 0.9]


def gold(item: Item, **layers: Any) -> None:
    document = Document.model_validate({"layers": {name[1:]: layer for name, layer in layers.items()}})
    bring_gold(item=item, document=document, by=make_user())


def put_out(project: Project, system: str, *records: dict[str, Any]) -> None:
    parsed = [SystemRecord.model_validate(record) for record in records]
    import_outputs(records=parsed, project=project, system=system, revision="1")


def boxes_out(item: Item, find: list[float], chosen: list[float]) -> dict[str, Any]:
    modules = [
        {"index": 2, "module": "filter", "probabilities": chosen},
        {"index": 3, "module": "find", "probabilities": find},
    ]
    return {"id": item.external_id, "proposals": [[BOX, ELSEWHERE], [BOX]], "modules": modules}


def two_dogs(item: Item) -> None:
    """Gold: a dog in each image, the left one black."""
    gold(
        item,
        n3={"state": "done", "objects": [box("a"), box("b", image=1)]},
        n2={"state": "done", "objects": [{"id": "c", "ref": "a"}]},
    )


def test_it_works() -> None:
    project = make_project()
    first, second, _without = make_items(project, 3)
    two_dogs(first)
    two_dogs(second)
    put_out(
        project,
        "nmn",
        boxes_out(first, [0.9, 0.1, 0.9], [0.9, 0.0, 0.0]),  # all right
        boxes_out(
            second, [0.9, 0.9, 0.2], [0.0, 0.9, 0.0]
        ),  # find: 1 of 2 right, 1 of 2 found; filter: wrong
        boxes_out(_without, [0.9, 0.9, 0.2], [0.0, 0.9, 0.0]),
    )
    scores = score_faithfulness(project, "nmn", "1")
    assert (scores.items, scores.without_gold) == (2, 1)
    find, chosen = scores.figures["cumulative"]["find"], scores.figures["cumulative"]["filter"]
    assert (find.precision, find.recall, find.n) == (3 / 4, 3 / 4, 2)
    assert (chosen.precision, chosen.recall) == (1 / 2, 1 / 2)
    assert scores.figures["per_example"]["find"].f1 == pytest.approx((1 + 1 / 2) / 2)
    assert scores.upper["per_example"]["overall"].f1 == 1
    assert [entry.item for entry in scores.worst] == [second.external_id, first.external_id]
    assert (scores.worst[0].node, scores.worst[0].module, scores.worst[0].module_score) == (2, "filter", 0)
    assert set(scores.figures) == {"per_example", "cumulative", "per_occurrence", "negative_iou"}


def test_intervals_come_from_items() -> None:
    project = make_project()
    items = make_items(project, 12)
    for number, item in enumerate(items):
        two_dogs(item)
        put_out(project, "nmn", boxes_out(item, [0.9, 0.1, 0.45 * (number % 3)], [0.9, 0.0, 0.0]))
    figure = score_faithfulness(project, "nmn", "1", resamples=200).figures["per_example"]["find"]
    assert figure.interval is not None
    assert figure.interval[0] < (figure.f1 or 0) < figure.interval[1]


def test_nothing_here_in_gold_counts() -> None:
    project = make_project()
    (item,) = make_items(project)
    gold(item, n3={"state": "nothing"}, n2={"state": "nothing"})
    put_out(project, "nmn", boxes_out(item, [0.9, 0.1, 0.1], [0.0, 0.0, 0.0]))
    figures = score_faithfulness(project, "nmn", "1").figures["per_example"]
    assert (figures["find"].precision, figures["find"].recall, figures["find"].f1) == (0, 1, 0)
    assert figures["filter"].f1 == 1


def test_equal_subtrees_share_gold_and_outputs() -> None:
    program = (
        "equal(count(find[dogs]), count(find[dogs]))"  # nodes: 0 equal, 1 count, 2 find, 3 count, 4 find
    )
    project = make_project()
    import_items(records=[make_record("twice", program=program)], project=project)
    item = project.items.get()
    gold(item, n2={"state": "done", "objects": [box("a")]})
    output = {"id": "twice", "proposals": [[BOX], [BOX]]}
    put_out(project, "one", {**output, "modules": [{"index": 2, "module": "find", "probabilities": [1, 0]}]})
    put_out(
        project,
        "two",
        {
            **output,
            "modules": [
                {"module": "find", "probabilities": [1, 0]},
                {"module": "find", "probabilities": [1, 1]},
            ],
        },
    )
    assert (
        score_faithfulness(project, "one", "1").figures["per_occurrence"]["find"].n == 4
    )  # two nodes, two images
    assert score_faithfulness(project, "two", "1").figures["cumulative"]["find"].precision == pytest.approx(
        2 / 3
    )


def test_an_output_that_is_missing_is_no_silent_gap() -> None:
    project = make_project()
    (item,) = make_items(project)
    two_dogs(item)
    output = boxes_out(item, [0.9, 0.1, 0.9], [])
    put_out(project, "nmn", {**output, "modules": output["modules"][1:]})
    with pytest.raises(Conflict, match=f"{item.external_id}.*filter.*no output"):
        score_faithfulness(project, "nmn", "1")


def test_spans_have_a_loss() -> None:
    project = make_project(kind="spans")
    (item,) = make_items(project)
    gold(
        item,
        n2={"state": "done", "objects": [span("a", 0, 5), span("b", 5, 10)]},
        n1={"state": "done", "objects": [{"id": "c", "ref": "b"}]},
    )
    certain, split = [0.2] * 5 + [0.0] * 5, [0.1] * 10
    put_out(
        project,
        "nmn",
        {
            "id": item.external_id,
            "modules": [
                {"module": "find", "attention": split},
                {"module": "filter", "attention": certain},
            ],
        },
    )
    scores = score_faithfulness(project, "nmn", "1")
    assert scores.figures["mean"]["find"].loss == pytest.approx(2 * 0.6931471806)
    assert scores.figures["mean"]["filter"].loss == pytest.approx(46.0517, abs=1e-3)  # minus ln 1e-20
    assert (scores.worst[0].node, scores.worst[0].module) == (1, "filter")
    assert scores.upper == {}


def test_two_systems_are_compared_on_what_both_have() -> None:
    project = make_project()
    items = make_items(project, 9)
    for item in items:
        two_dogs(item)
        put_out(project, "good", boxes_out(item, [0.9, 0.1, 0.9], [0.9, 0.0, 0.0]))
    for item in items[:8]:
        put_out(project, "bad", boxes_out(item, [0.1, 0.9, 0.1], [0.0, 0.9, 0.0]))
    comparison = compare(project, ("good", "1"), ("bad", "1"), trials=2000)
    assert (comparison.n, comparison.first, comparison.second, comparison.difference) == (8, 1, 0, 1)
    assert comparison.p == pytest.approx(2 / 2**8, abs=0.01)
    same = compare(project, ("good", "1"), ("good", "1"), averaging="cumulative", module="find", trials=100)
    assert same.p == 1
    with pytest.raises(NotFound, match="project"):
        compare(project, ("good", "1"), ("bad", "1"), module="project")


def test_systems_are_listed_with_how_much_is_scored() -> None:
    project = make_project()
    first, second = make_items(project, 2)
    two_dogs(first)
    put_out(project, "b", boxes_out(first, [0, 0, 0], [0, 0, 0]), boxes_out(second, [0, 0, 0], [0, 0, 0]))
    put_out(project, "a", boxes_out(second, [0, 0, 0], [0, 0, 0]))
    assert [(row.system, row.items, row.with_gold) for row in list_systems_with_outputs(project)] == [
        ("a", 1, 0),
        ("b", 2, 1),
    ]
    with pytest.raises(NotFound, match="no item with gold"):
        score_faithfulness(project, "a", "1")


def test_what_an_annotator_saw_is_stored(client: Any) -> None:
    project = make_project(show_predictions=True, annotators_per_item=2)
    (item,) = make_items(project)
    put_out(project, "nmn", boxes_out(item, [0, 0, 0], [0, 0, 0]))
    annotation = make_annotation(make_member(project))
    client.force_login(annotation.annotator)
    address = f"/api/v1/annotations/{annotation.pk}/editor/"
    assert client.get(address).json()["predictions"][0]["system"] == "nmn"
    note_shown(annotation=annotation, outputs=["nmn@1"], by=annotation.annotator)
    assert Annotation.objects.get(pk=annotation.pk).predictions_shown == ["nmn@1"]
    change_settings(project=project, show_predictions=False, by=make_user())
    assert client.get(address).json()["predictions"] is None
    assert Annotation.objects.get(pk=annotation.pk).predictions_shown == [
        "nmn@1"
    ]  # it was seen, whatever comes later


def test_what_a_reviewer_sees_is_not_what_the_annotator_saw(client: Any) -> None:
    project = make_project(show_predictions=True)
    (item,) = make_items(project)
    put_out(project, "nmn", boxes_out(item, [0, 0, 0], [0, 0, 0]))
    annotation = make_annotation(make_member(project))
    manager = make_member(project, Role.MANAGER).user
    client.force_login(manager)
    assert client.get(f"/api/v1/annotations/{annotation.pk}/editor/").status_code == 200
    note_shown(annotation=annotation, outputs=["nmn@1"], by=manager)
    assert Annotation.objects.get(pk=annotation.pk).predictions_shown == []


def test_the_pages_show_figures_worst_items_and_a_test_of_two_systems() -> None:
    project = make_project()
    first, second = make_items(project, 2)
    for item in (first, second):
        two_dogs(item)
    for system, boxes in (("good", [0.9, 0.1, 0.9]), ("bad", [0.1, 0.9, 0.1])):
        put_out(project, system, *(boxes_out(item, boxes, boxes) for item in (first, second)))
    client = client_of(make_member(project, Role.ADJUDICATOR).user)
    base = f"/annotate/{project.slug}/outputs/"
    assert "bad" in client.get(base).content.decode()
    page = client.get(f"{base}good/1/").content.decode()
    assert "Lowest-scoring items" in page
    assert first.external_id in page
    for order, expected in (("item", [first, second]), ("-item", [second, first])):
        shown = client.get(f"{base}good/1/?sort={order}").content.decode().split('id="worst"')[1]
        places = [shown.index(f">{item.external_id}</a>") for item in expected]
        assert places == sorted(places), order
    assert client.get(f"{base}good/2/").status_code == 404
    answer = client.get(base, {"first": "good@1", "second": "bad@1"}).content.decode()
    assert "Difference" in answer
    assert "p = 0." in answer
    assert client_of(make_member(project).user).get(base).status_code == 403
