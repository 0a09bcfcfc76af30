"""The answers among which participants predict a system's answer.

Pure: no Django.
"""

import hashlib
from collections import Counter
from collections.abc import Iterable, Sequence

from analysis.scores import hotpotqa
from modelserver.inputs.mentions import MentionType, find_mentions
from studyapp.definition.task_designs.task_questions import YES_NO

Context = Sequence[tuple[str, Sequence[str]]]


def select_candidates(
    answer: str, likely: Sequence[str], context: Context, labels: Sequence[str], *, most: int, seed: str
) -> list[str]:
    """Return the answers to choose from, with the system's own among them.

    No two are equal after the normalisation of HotpotQA. The order follows from the seed and the answers, so
    that it does not show which one is the system's; yes, no and labels keep theirs.

    Args:
        answer: The answer of the system.
        likely: Other answers that it might give, the likeliest first: to the original, of gold, of others.
        context: The articles, whose mentions of the type of these answers fill up the list.
        labels: The answers that the question offers; empty if its answer is free.
        most: The largest number of answers.
        seed: Decides mentions and order.
    """
    likely_answers = _drop_equal_answers([answer, *likely])
    polar = [candidate for candidate in likely_answers if hotpotqa.normalise_answer(candidate) in YES_NO]
    fixed = labels or (YES_NO if len(polar) == len(likely_answers) else [])
    if any(hotpotqa.exact_match(answer, option) for option in fixed):
        return _select_offered_answers(answer, fixed, likely_answers, most)
    # A system may answer a question for yes or no with words, and the other way round.
    others = [
        *(YES_NO if polar else []),
        *shuffle_texts(_select_mentions(likely_answers, context), f"{seed}/mentions"),
    ]
    # By another seed than the mentions, or those drawn would always come first.
    return shuffle_texts(_drop_equal_answers([*likely_answers, *others])[:most], seed)


def _select_offered_answers(
    answer: str, fixed: Sequence[str], likely_answers: Sequence[str], most: int
) -> list[str]:
    """Return the answers that a question offers, the likely ones if too many."""
    own = [answer if hotpotqa.exact_match(answer, option) else option for option in fixed]
    kept = _drop_equal_answers([*(option for option in likely_answers if option in own), *own])[:most]
    return [option for option in own if option in kept]


def _drop_equal_answers(answers: Sequence[str]) -> list[str]:
    """Return the answers that differ after normalisation, the first of equals."""
    kept: dict[str, str] = {}
    for answer in answers:
        if answer.strip():
            kept.setdefault(hotpotqa.normalise_answer(answer), answer)
    return list(kept.values())


def _select_mentions(likely_answers: Sequence[str], context: Context) -> list[str]:
    """Return what the articles mention of the type of a likely answer.

    The type of a name is the one that it has most often. A word that only opens sentences is not a name. All
    names are returned if the articles mention no likely answer.
    """
    types: dict[str, Counter[MentionType]] = {}
    names = {title for title, _sentences in context}
    for text in (sentence.strip() for _title, sentences in context for sentence in sentences):
        for mention in find_mentions(text):
            word = text[mention.start : mention.end]
            types.setdefault(word, Counter())[mention.type] += 1
            if mention.start > 0 or " " in word:
                names.add(word)
    usual = {word: counts.most_common(1)[0][0] for word, counts in types.items() if word in names}
    expected = {usual[answer] for answer in likely_answers if answer in usual}
    return [word for word, kind in usual.items() if not expected or kind in expected]


def shuffle_texts(texts: Iterable[str], seed: int | str) -> list[str]:
    """Return the different texts in the order of a hash of seed and text.

    Their order does not matter, and one text more changes little.
    """
    return sorted(set(texts), key=lambda text: hashlib.sha256(f"{seed}/{text}".encode()).digest())
