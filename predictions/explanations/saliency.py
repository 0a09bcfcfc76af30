"""Saliency as the site stores it: method names and word weights. Pure."""

from modelserver.wire.schema import Context, Explanation, SaliencyMethod, SaliencyOptions

DEFAULTS = SaliencyOptions()


def name_method(options: SaliencyOptions | None) -> str:
    """Name a method and the options that differ from the defaults.

    The name is empty without options.
    """
    if options is None:
        return ""
    given = options.model_dump(exclude={"method"})
    changed = [f"{key} {value}" for key, value in given.items() if value != getattr(DEFAULTS, key)]
    return ", ".join([options.method, *changed])


def has_sign(name: str) -> bool:
    """Return whether weights by a named method tell support from opposition.

    Norms of gradient-based methods do not. Weights without a name came with the predictions, whose files say
    what supports an answer.
    """
    return not name or name.startswith("occlusion") or "summary dot" in name


def build_highlight_options(method: SaliencyMethod) -> SaliencyOptions:
    """Return the options of weights for people, who read words."""
    return SaliencyOptions(method=method, level="word")


def extract_weights(context: Context, explanation: Explanation) -> list[tuple[str, int, int, int, float]]:
    """Return title, sentence, start, end and score of the context's words.

    Words of titles belong to no fact. Of articles with one title the last counts, because
    a fact can name no other.
    """
    last = {title: number for number, (title, _) in enumerate(context)}
    return [
        (token.title, token.index, token.start, token.end, token.score)
        for token in explanation.scores
        if token.title is not None and token.index is not None and last[token.title] == token.article
    ]


def extract_question_weights(explanation: Explanation) -> list[tuple[int, int, float]]:
    """Return start, end and score of the question's words, in order."""
    return [(token.start, token.end, token.score) for token in explanation.scores if token.title is None]
