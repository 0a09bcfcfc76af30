"""The distinct reduced contexts of a prediction, for FaRM. Pure.

Source: Schuff et al. 2020, §4.2; which facts go first is defined in ``analysis.scores.farm_loca``.
"""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from analysis.scores.farm_loca import REMOVALS, reduce_context, removal_order
from modelserver.wire.schema import Context

_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


@dataclass(frozen=True)
class Reductions:
    """The reduced contexts of a prediction by digest.

    Attributes:
        full: The digest of the unreduced context.
        relevant: For each k, the digest of the context without up to k relevant facts.
        irrelevant: For each k, the digest of the context without up to k irrelevant facts.
        contexts: The context of each digest but ``full``, whose answer is known.
    """

    full: str
    relevant: dict[int, str]
    irrelevant: dict[int, str]
    contexts: dict[str, Context]


def reductions(
    context: Sequence[Sequence[Any]],
    facts: Sequence[Sequence[Any]],
    probabilities: Sequence[Sequence[Any]],
) -> Reductions:
    """Return the reductions of one prediction.

    context: ``[[title, [sentence, ...]], ...]``; facts: those predicted relevant, ``[[title, index], ...]``;
    probabilities: ``[[title, index, p], ...]`` of every fact, in the order of the context.

    Raises ValueError when a fact predicted relevant has no probability.
    """
    order = removal_order(probabilities, facts)
    contexts: dict[str, Context] = {}

    def without(removed: Sequence[tuple[str, int]]) -> dict[int, str]:
        digests = {}
        for k in REMOVALS:
            reduced = reduce_context(context, removed[:k], k)
            digests[k] = digest(reduced)
            contexts[digests[k]] = [(title, sentences) for title, sentences in reduced]
        return digests

    full = digest(context)
    relevant, irrelevant = without(order.relevant), without(order.irrelevant)
    contexts.pop(full, None)
    return Reductions(full=full, relevant=relevant, irrelevant=irrelevant, contexts=contexts)


def digest(context: Sequence[Sequence[Any]]) -> str:
    """SHA-256 of a context, in hex digits."""
    return hashlib.sha256(_encode(context).encode()).hexdigest()
