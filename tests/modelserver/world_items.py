"""What holds for every kind of generated items: read back as item records, and executed over their gold."""

from analysis.programs import FoundBox, FoundSpan, is_answer_consistent, parse, run
from annotation.content.completeness import open_nodes
from annotation.content.operations import Subject
from annotation.content.operations import check_document as follows_the_rules
from annotation.content.schemas import Box, Chosen, ItemRecord, Span


def checked(record):
    """Return the record as annotation reads it, and its program; its gold must be whole and by the rules."""
    item = ItemRecord.model_validate(record)
    program = parse(item.program, kind=item.kind)
    assert str(program) == item.program
    subject = Subject(kind=item.kind, images=len(item.images), passage=item.passage, tokens=item.tokens)
    assert follows_the_rules(item.gold, program, subject) == item.gold
    assert open_nodes(item.gold, program) == []
    return item, program


def gold_objects(item, program):
    """Return the gold's objects by node, references followed to the boxes and spans that they stand for."""
    drawn: dict = {}
    for number in program.walk:
        layer = item.gold.layers.get(number)
        if layer is None:
            assert program.nodes[number].role == "compute"
            continue
        assert layer.state == ("done" if layer.objects else "nothing")
        below = [program.representative[child] for child in program.nodes[number].children]
        known = {one: place for child in below for one, place in drawn.get(child, {}).items()}
        if program.nodes[number].role == "choose":  # filter ⊆ find: the first child has all that is chosen
            assert all(isinstance(each, Chosen) for each in layer.objects)
            assert {each.ref for each in layer.objects} <= set(drawn[below[0]])
        drawn[number] = {
            each.id: known[each.ref] if isinstance(each, Chosen) else each for each in layer.objects
        }
        links = [each.links for each in layer.objects if not isinstance(each, Chosen)]
        if program.nodes[number].role == "link":
            assert all(links)
        assert {link for some in links for link in some} <= set(known)
    return drawn


def executed(item, program):
    """Execute a program over the gold."""
    drawn = gold_objects(item, program)
    places = {one: each for objects in drawn.values() for one, each in objects.items()}
    return run(
        program, {n: [found(each, places) for each in objects.values()] for n, objects in drawn.items()}
    )


def found(each, places):
    if isinstance(each, Box):
        return FoundBox(each.image, each.box)
    assert isinstance(each, Span)
    sources = tuple(tuple(places[link].span) for link in each.links)
    return FoundSpan(*each.span, each.quote, sources=sources)


def execution_gives_the_answer(record):
    item, program = checked(record)
    return is_answer_consistent(program, executed(item, program), item.answer)
