"""Drafts of instances for questions over a context, by rule and template.

A question without a draft has a reason. The two reasoning steps are those of
Ray Choudhury et al. 2022, section 3.2; the rules are those of the modules
`comparison`, `coreference`, `contexts` and `partitions`.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from ..stats.arguments import check_choice
from .comparison import Counterfactual, Distribution, find_comparing_words, swaps
from .contexts import reduce_question
from .coreference import insertions
from .instances import Extent, Instance, Version, join_context
from .partitions import Span, cluster_of, comparison_partition, coreference_partition
from .resolvers import Resolutions, format_text_id, relevant_cluster

Step = Literal["comparison", "coreference"]
STEPS: tuple[Step, ...] = ("comparison", "coreference")
EXTENTS: tuple[Extent, ...] = ("facts", "paragraphs")
NEAR_SYNONYM = "a swap that hardly changes the meaning"

Draft = tuple[dict[str, Any], Version, Version]  # fields of the instance, the original, the counterfactual


@dataclass
class Drafts:
    """Drafted instances.

    Attributes:
        instances: The drafts, in the order of the questions.
        skipped: Number of questions, or swaps, that gave none, by step, extent and reason.
    """

    instances: list[Instance] = field(default_factory=list)
    skipped: Counter[tuple[str, str, str]] = field(default_factory=Counter)


def draft(
    questions: Iterable[Mapping[str, Any]],
    *,
    steps: Sequence[Step] = STEPS,
    distributions: Sequence[Distribution] = ("in", "out"),
    extents: Sequence[Extent] = EXTENTS,
    near_synonyms: bool = False,
    resolutions: Resolutions | None = None,
) -> Drafts:
    """Draft instances of every question, in their order.

    Args:
        questions: Of the HotpotQA form, with `_id`, `question`, `answer` and
            `context`; `supporting_facts` and `type` if known.
        steps: The reasoning steps to draft for.
        distributions: For comparisons, swaps by words of the training data ("in")
            or by words that it lacks ("out").
        extents: Parts of the context to keep. Without supporting facts, the whole
            context is the only one.
        near_synonyms: Also draft the listed swaps that hardly change the meaning.
        resolutions: Clusters of a resolver; None drafts them by rule.

    Returns:
        The instances, and how often none could be drafted, by reason.

    Raises:
        ValueError: A step, distribution or extent is unknown, or a question lacks a field.
    """
    for name, values, choices in (
        ("steps", steps, STEPS),
        ("distributions", distributions, get_args(Distribution)),
        ("extents", extents, get_args(Extent)),
    ):
        for value in values:
            check_choice(value, choices, name)
    drafts = Drafts()
    for question in questions:
        if missing := [name for name in ("_id", "question", "answer", "context") if name not in question]:
            raise ValueError(f"question {question.get('_id')!r} has no {missing[0]}")
        has_facts = question.get("supporting_facts") is not None
        wanted: Sequence[Extent] = extents if has_facts else [""]
        for extent in dict.fromkeys(wanted):
            for step in steps:
                try:
                    shown = reduce_question(question, extent) if extent else question
                    if step == "comparison":
                        drafted = _draft_comparison(shown, distributions)
                    else:
                        drafted = _draft_coreference(shown, extent, resolutions)
                except ValueError as reason:
                    drafts.skipped[step, extent, str(reason)] += 1
                    continue
                kept = [
                    candidate
                    for candidate in drafted
                    if near_synonyms or not candidate[0].get("near_synonym")
                ]
                if len(kept) < len(drafted):
                    drafts.skipped[step, extent, NEAR_SYNONYM] += len(drafted) - len(kept)
                _add(drafts, question, step, extent, kept)
    return drafts


def _add(
    drafts: Drafts, question: Mapping[str, Any], step: Step, extent: Extent, drafted: Sequence[Draft]
) -> None:
    for index, (values, original, changed) in enumerate(drafted):
        drafts.instances.append(
            Instance(
                id=":".join([question["_id"], step, extent or "whole", str(index)]),
                question_id=question["_id"], step=step, extent=extent, original=original,
                counterfactual=changed, **values,
            )
        )  # fmt: skip


def _draft_comparison(question: Mapping[str, Any], distributions: Sequence[Distribution]) -> list[Draft]:
    """Draft swaps. Raises ValueError, with the reason, without one."""
    if "comparison" not in question.get("type", "comparison"):
        raise ValueError("not a comparison question")
    text, entities = question["question"], _list_entities(question)
    if len(find_comparing_words(text, entities)) != 1:
        raise ValueError("not exactly one listed word")
    counterfactuals: list[Counterfactual] = []
    for distribution in distributions:
        counterfactuals += swaps(text, question["answer"], entities, distribution=distribution)
    if not counterfactuals:
        raise ValueError("no swap of this word is listed")
    if counterfactuals[0].answer is None:
        raise ValueError("the answer is not one of two compared entities")
    parts = comparison_partition(text, entities)
    if not parts.negative:
        raise ValueError("no word for the negative part")
    spans = {"where": "question", "positive": list(parts.positive), "negative": list(parts.negative)}
    return [
        (
            {**spans, "distribution": swap.distribution, "near_synonym": swap.near_synonym},
            _build_version(question, text, question["answer"]),
            _build_version(question, swap.question, swap.answer),
        )
        for swap in counterfactuals
    ]


def _list_entities(question: Mapping[str, Any]) -> list[str]:
    """Return the titles of the supporting facts, or of all articles.

    These may be compared.
    """
    facts = question.get("supporting_facts")
    return list(dict.fromkeys(title for title, _ in (question["context"] if facts is None else facts)))


def _draft_coreference(
    question: Mapping[str, Any], extent: Extent, resolutions: Resolutions | None
) -> list[Draft]:
    """Draft insertions. Raises ValueError, with the reason, without one."""
    if "comparison" in question.get("type", ""):
        raise ValueError("a comparison question")
    text, answer = question["question"], question["answer"]
    whole = join_context(question["context"])
    cluster = _find_cluster(format_text_id(question["_id"], extent), whole, answer, resolutions)
    drafts = insertions(whole, text, answer)
    if not drafts:
        raise ValueError("no template fits")
    parts = coreference_partition(whole, text, cluster)
    if not parts.negative:
        raise ValueError("no word for the negative part")
    spans = {"where": "context", "positive": list(parts.positive), "negative": list(parts.negative)}
    answering = _choose_article(question)
    changed = []
    for insertion in drafts:
        context = [
            (title, [*sentences, insertion.edit.new] if number == answering else list(sentences))
            for number, (title, sentences) in enumerate(question["context"])
        ]
        changed.append(Version(question=text, context=context, answer=insertion.answer))
    return [(spans, _build_version(question, text, answer), version) for version in changed]


def _find_cluster(id: str, text: str, answer: str, resolutions: Resolutions | None) -> list[Span]:
    """Return the cluster of the answer. Raises ValueError without one."""
    if resolutions is None:
        cluster = cluster_of(text, answer)
        if not cluster:
            raise ValueError("the context has no mention of a named answer")
        return cluster
    clusters = resolutions.find(id, text)
    if clusters is None:
        raise ValueError("the resolver has not read this context")
    cluster = relevant_cluster(text, answer, clusters)
    if not cluster:
        raise ValueError("no cluster of the resolver holds the answer")
    return cluster


def _choose_article(question: Mapping[str, Any]) -> int:
    """Choose the article to write behind: the first that holds the answer.

    Articles with a supporting fact come first.
    """
    gold = {title for title, _ in question.get("supporting_facts") or []}
    articles = list(enumerate(question["context"]))
    articles.sort(key=lambda article: article[1][0] not in gold)
    holding = (number for number, (_, sentences) in articles if question["answer"] in "".join(sentences))
    return next(holding, articles[0][0])


def _build_version(question: Mapping[str, Any], text: str, answer: str | None) -> Version:
    context = [(title, list(sentences)) for title, sentences in question["context"]]
    return Version(question=text, context=context, answer=answer)
