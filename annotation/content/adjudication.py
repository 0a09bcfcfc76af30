"""The draft that an adjudication starts from. No Django."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from analysis.programs import Program
from annotation.content.comparison import build_steps
from annotation.content.schemas import Answer, Box, Chosen, Document, Layer, Object, Relation, Span, State


def build_draft(
    program: Program, documents: Mapping[str, Document], tokens: Sequence[tuple[int, int]], passage: str
) -> Document:
    """Return the document that an adjudication starts from.

    It holds the objects that everybody marked, at the median of their coordinates. Steps with full
    agreement are done; the others stay open.
    """
    layers: dict[int, Layer] = {}
    origin: dict[tuple[str, str], str] = {}  # (person, id of their object) to the id in the draft
    compared = build_steps(program, documents, tokens)
    for step in sorted(compared, key=lambda step: program.nodes[step.node].role == "relate"):
        role = program.nodes[step.node].role
        kept: list[Object] = []
        for number, cluster in enumerate(step.clusters):
            if len(cluster.members) < len(documents):
                continue
            name = f"g{step.node}.{number}"
            members = {who: step.layers[who].objects[index] for who, index in cluster.members.items()}
            median = step.middle(cluster, tokens, passage)
            settled = _settle_object(name, role, members, median, origin)
            if settled is None:
                continue
            kept.append(settled)
            origin.update({(who, member.id): name for who, member in members.items()})
        unsettled = not step.unanimous or len(kept) < len(step.clusters)
        state: State = "open" if unsettled else "done" if kept else "nothing"
        layers[step.node] = Layer(state=state, objects=tuple(kept))
    return Document(layers=dict(sorted(layers.items())))


def _settle_relation(
    name: str, members: Mapping[str, Object], origin: Mapping[tuple[str, str], str]
) -> Relation | None:
    """Return the common relation of a cluster; None without both ends."""
    who, first = next(iter(members.items()))
    assert isinstance(first, Relation)
    ends = [origin.get((who, end)) for end in first.ends]
    return Relation(id=name, label=first.label, ends=(ends[0], ends[1])) if ends[0] and ends[1] else None


def _settle_object(
    name: str,
    role: str,
    members: Mapping[str, Object],
    median: Mapping[str, Any],
    origin: Mapping[tuple[str, str], str],
) -> Object | None:
    """Return the common object of a cluster; None if references differ."""
    if "value" in median:
        return Answer(id=name, value=median["value"])
    if "ends" in median:
        return _settle_relation(name, members, origin)
    references = {
        origin.get((who, member.ref)) for who, member in members.items() if isinstance(member, Chosen)
    }
    if references:
        all_chose = all(isinstance(member, Chosen) for member in members.values())
        ref = references.pop() if len(references) == 1 and all_chose else None
        return Chosen(id=name, ref=ref) if ref else None
    links = [
        tuple(sorted({origin.get((who, link), "") for link in member.links}))
        for who, member in members.items()
        if not isinstance(member, Chosen)
    ]
    if len(set(links)) > 1 or "" in links[0]:
        return None
    reason = "everybody saw a new one" if role == "choose" else ""
    first = next(iter(members.values()))
    shape = Span if "span" in median else type(first) if isinstance(first, Box) else Box
    return shape(id=name, links=links[0], reason=reason, **median)
