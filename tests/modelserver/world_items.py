"""Checks for every kind of generated items.

Items are read back as item records, and executed over their gold.
"""

from analysis.programs import FoundBox, FoundSpan, is_answer_consistent, parse, run
from annotation.content.completeness import open_nodes
from annotation.content.operations import Subject
from annotation.content.operations import check_document as follows_the_rules
from annotation.content.schemas import Box, Chosen, ItemRecord, Span


def checked(record):
    """Return the record as annotation reads it, and its program.

    The gold must be whole and by the rules.
    """
    item = ItemRecord.model_validate(record)
    program = parse(item.program, kind=item.kind)
    assert str(program) == item.program
    subject = Subject(kind=item.kind, images=len(item.images), passage=item.passage, tokens=item.tokens)
    assert follows_the_rules(item.gold, program, subject) == item.gold
    assert open_nodes(item.gold, program) == []
    return item, program


def gold_objects(item, program):
    """Return the gold's objects by node.

    References are followed to the boxes and spans that they stand for.
    """
    drawn: dict = {}
    for number in program.walk:
        layer = item.gold.layers.get(number)
        if layer is None:
            assert program.nodes[number].role == "compute"
            continue
        assert layer.state == ("done" if layer.objects else "nothing")
        below = [program.representative[child] for child in program.nodes[number].children]
        targets = {
            identifier: target for child in below for identifier, target in drawn.get(child, {}).items()
        }
        if program.nodes[number].role == "choose":  # filter ⊆ find: the first child has all that is chosen
            assert all(isinstance(gold_object, Chosen) for gold_object in layer.objects)
            assert {gold_object.ref for gold_object in layer.objects} <= set(drawn[below[0]])
        drawn[number] = {
            gold_object.id: targets[gold_object.ref] if isinstance(gold_object, Chosen) else gold_object
            for gold_object in layer.objects
        }
        links = [gold_object.links for gold_object in layer.objects if not isinstance(gold_object, Chosen)]
        if program.nodes[number].role == "link":
            assert all(links)
        assert {link for object_links in links for link in object_links} <= set(targets)
    return drawn


def executed(item, program):
    """Execute a program over the gold."""
    drawn = gold_objects(item, program)
    targets = {
        identifier: gold_object for objects in drawn.values() for identifier, gold_object in objects.items()
    }
    return run(
        program,
        {
            n: [convert_object(gold_object, targets) for gold_object in objects.values()]
            for n, objects in drawn.items()
        },
    )


def convert_object(gold_object, targets):
    if isinstance(gold_object, Box):
        return FoundBox(gold_object.image, gold_object.box)
    assert isinstance(gold_object, Span)
    sources = tuple(tuple(targets[link].span) for link in gold_object.links)
    return FoundSpan(*gold_object.span, gold_object.quote, sources=sources)


def execution_gives_the_answer(record):
    item, program = checked(record)
    return is_answer_consistent(program, executed(item, program), item.answer)
