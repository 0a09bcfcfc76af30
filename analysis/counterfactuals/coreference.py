"""Counterfactual coreference questions: a new person takes over.

New sentences give the question to that person. In Ray Choudhury et al. 2022,
section 3.2, people wrote them; here templates write drafts, and each needs a
person's eye, because a template knows no grammar beyond its own.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from .edits import Edit

NAMES = (
    ("Tarin", "Veldrop"),
    ("Oslin", "Marchetta"),
    ("Pell", "Quandrey"),
    ("Jorun", "Askewell"),
    ("Mirre", "Halvik"),
    ("Caddo", "Brennough"),
)
TEMPLATES = (
    "That account is mistaken: there was also a {noun} named {name}. It was {pronoun} alone who {deed}.",
    "Later research names a {noun} called {name} instead. In truth only {pronoun} {deed}.",
)
_HE = frozenset(["man", "boy", "father", "son", "brother", "husband", "king", "actor", "priest", "he"])
_SHE = frozenset(["woman", "girl", "mother", "daughter", "sister", "wife", "queen", "actress", "nun", "she"])
_NAMED = re.compile(
    r"what (?:is|was) the (?P<part>full |first |last |)name of the (?P<noun>[a-z]+) "
    r"(?:who|that) (?P<deed>.+?)\s*\?",
    re.IGNORECASE | re.DOTALL,
)
_WHO = re.compile(
    r"who (?P<deed>(?!(?:is|are|do|does|did|has|have|else)\b).+?)\s*\?", re.IGNORECASE | re.DOTALL
)


@dataclass(frozen=True)
class Insertion:
    """Draft of a counterfactual context.

    Attributes:
        context: The context with the new sentences.
        answer: The new gold answer.
        answer_start: Code point at which it starts.
        edit: The insertion.
    """

    context: str
    answer: str
    answer_start: int
    edit: Edit


def insertions(
    context: str, question: str, answer: str, names: Sequence[tuple[str, str]] = NAMES
) -> list[Insertion]:
    """Draft one insertion per template, behind the context's last sentence.

    Questions that fit ask who did something, or for the name of someone who did; those whose words hold the
    old answer are left out, since the new sentences must not name it. Everything in front of the insertion
    stays as it is.

    Args:
        context: Text of the context.
        question: Text of the question.
        answer: Gold answer, which the insertions do not name.
        names: Invented first and last names; the first that neither text holds is taken.

    Returns:
        One per template, in their order; none if no template or no name fits.

    Examples:
        >>> insertions("Ann Lee sang.", "Who sang?", "Ann Lee")[1].context[14:]
        'Later research names a person called Tarin Veldrop instead. In truth only this person sang.'
    """
    match = _NAMED.fullmatch(question.strip()) or _WHO.fullmatch(question.strip())
    if match is None or answer.lower() in match["deed"].lower():
        return []
    parts = match.groupdict()
    noun = (parts.get("noun") or "person").lower()
    free = [name for name in names if not any(part in context + question for part in name)]
    if not free:
        return []
    new = _select_name_part(free[0], (parts.get("part") or "").strip().lower())
    start = len(context.rstrip())
    drafts = []
    for template in TEMPLATES:
        added = " " + template.format(
            noun=noun, name=" ".join(free[0]), pronoun=_choose_pronoun(noun), deed=match["deed"]
        )
        edit = Edit(start, "", added)
        changed = edit.apply(context)
        drafts.append(Insertion(changed, new, changed.index(new, start), edit))
    return drafts


def _select_name_part(name: tuple[str, str], part: str) -> str:
    return {"first": name[0], "last": name[1]}.get(part, " ".join(name))


def _choose_pronoun(noun: str) -> str:
    return "he" if noun in _HE else "she" if noun in _SHE else "this person"
