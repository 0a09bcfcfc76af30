"""Saliency as the site keeps it: a name for how it was computed, and weights of words to highlight. Pure."""

from modelserver.wire.schema import Context, Explanation, SaliencyMethod, SaliencyOptions

DEFAULTS = SaliencyOptions()


def method_name(options: SaliencyOptions | None) -> str:
    """A name for how saliency is computed: the method, and what differs from the defaults; empty without."""
    if options is None:
        return ""
    given = options.model_dump(exclude={"method"})
    changed = [f"{key} {value}" for key, value in given.items() if value != getattr(DEFAULTS, key)]
    return ", ".join([options.method, *changed])


def highlighting(method: SaliencyMethod) -> SaliencyOptions:
    """How weights that people are shown are computed: by word, for they read words."""
    return SaliencyOptions(method=method, level="word")


def weights(context: Context, explanation: Explanation) -> list[tuple[str, int, int, int, float]]:
    """Title, sentence, start, end and score of each word of a sentence, in their order.

    Words of the question and of titles are no part of a fact. Of articles with one title the last counts,
    since a fact can name no other.
    """
    last = {title: number for number, (title, _) in enumerate(context)}
    return [
        (one.title, one.index, one.start, one.end, one.score)
        for one in explanation.scores
        if one.title is not None and one.index is not None and last[one.title] == one.article
    ]
