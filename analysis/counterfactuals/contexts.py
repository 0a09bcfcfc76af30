"""Shorter contexts for HotpotQA-form questions: facts or paragraphs."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, get_args

from ..stats.arguments import check_choice

Extent = Literal["facts", "paragraphs"]


def reduce_question(question: Mapping[str, Any], extent: Extent) -> dict[str, Any]:
    """Reduce a question's context and renumber its supporting facts.

    A fact that the context does not hold, as some of HotpotQA's, is dropped. Sentences stay as they are.

    Args:
        question: Has `context` [[title, [sentence, …]], …] and `supporting_facts` [[title, index], …].
        extent: "facts" keeps the supporting sentences, "paragraphs" the articles that hold one.

    Returns:
        The question with its other fields, `context` and `supporting_facts` replaced.

    Raises:
        ValueError: `extent` is unknown, or no fact is left.

    Examples:
        >>> question = {"context": [["A", ["a.", "b."]], ["B", ["c."]]], "supporting_facts": [["A", 1]]}
        >>> reduced = reduce_question(question, "facts")
        >>> reduced["context"], reduced["supporting_facts"]
        ([['A', ['b.']]], [['A', 0]])
    """
    check_choice(extent, get_args(Extent), "extent")
    articles: list[tuple[str, Sequence[str]]] = [tuple(article) for article in question["context"]]
    facts = {(title, index) for title, index in question["supporting_facts"]}
    context, kept = [], []
    for title, sentences in articles:
        chosen = [index for index in range(len(sentences)) if (title, index) in facts]
        if not chosen:
            continue
        shown = chosen if extent == "facts" else list(range(len(sentences)))
        context.append([title, [sentences[index] for index in shown]])
        kept += [[title, shown.index(index)] for index in chosen]
    if not context:
        raise ValueError("supporting_facts: the context holds none of them")
    return {**question, "context": context, "supporting_facts": kept}
