"""Records for `python -m analysis alignment`, from a system's answers."""

from collections.abc import Iterable, Mapping
from typing import Any

from ..scores.hotpotqa import answer_f1, exact_match
from .instances import Instance, Version, Weight


def build_record(
    instance: Instance,
    names: Mapping[str, Any],
    answers: tuple[str, str],
    weights: Iterable[Weight] | None = None,
) -> dict[str, Any]:
    """Build the record of an instance.

    It has the form of `analysis.counterfactuals.alignment.Record` and more.

    names: other fields, such as the data set, the system and the method. answers:
    to the original and to the counterfactual. weights: saliency of the original's
    tokens; None if the system has none, and then the record has no parts. Raises
    ValueError if a right answer is not known.
    """
    fields: dict[str, Any] = {
        "id": instance.id, "question_id": instance.question_id, **names, "step": instance.step,
        "context": instance.extent, "distribution": instance.distribution,
        "near_synonym": instance.near_synonym, "verdict": instance.verdict,
    }  # fmt: skip
    for name, version, given in zip(
        ("original", "counterfactual"), (instance.original, instance.counterfactual), answers, strict=True
    ):
        fields |= _judge_answer(name, version, given)
    if weights is not None:
        positive, negative = instance.partition.scores(instance.tokens(weights))
        fields |= {"positive": positive, "negative": negative}
    return fields


def _judge_answer(name: str, version: Version, given: str) -> dict[str, Any]:
    if version.answer is None:
        raise ValueError(f"{name}: its right answer is not known")
    return {
        f"{name}_correct": exact_match(version.answer, given),
        f"{name}_f1": answer_f1(version.answer, given).f1,
        f"{name}_answer": given,
        f"{name}_gold": version.answer,
    }


def select_usable(instances: Iterable[Instance], *, near_synonyms: bool = False) -> list[Instance]:
    """Return the instances with two right answers that nobody rejected.

    Swaps that hardly change the meaning are left out unless people confirmed
    them or ``near_synonyms`` is true.
    """
    return [
        instance
        for instance in instances
        if instance.verdict != "rejected"
        and (near_synonyms or not instance.is_doubtful)
        and instance.original.answer is not None
        and instance.counterfactual.answer is not None
    ]
