"""The modules of programs in plain words, for people without the papers."""

from django.utils.functional import Promise
from django.utils.translation import gettext as translated
from django.utils.translation import gettext_lazy as _

# A label for each module; its argument, if any, follows in quotes.
WORDS: dict[str, str | Promise] = {
    "find": _("Find"),
    "filter": _("Keep those that match"),
    "with-relation": _("Keep those in this relation"),
    "project": _("Find what belongs to them"),
    "intersect": _("Keep those that are in both"),
    "discard": _("Remove"),
    "in-left-image": _("Keep those in the left image"),
    "in-right-image": _("Keep those in the right image"),
    "in-one-image": _("Keep those in the one image"),
    "in-other-image": _("Keep those in the other image"),
    "count": _("Count them"),
    "exist": _("Is there one?"),
    "equal": _("Are both numbers the same?"),
    "less": _("Is the first number smaller?"),
    "less-equal": _("Is the first number smaller or the same?"),
    "greater": _("Is the first number larger?"),
    "greater-equal": _("Is the first number larger or the same?"),
    "and": _("Are both true?"),
    "or": _("Is at least one true?"),
    "sum": _("Add both numbers"),
    "difference": _("Subtract the second number from the first"),
    "division": _("Divide the first number by the second"),
    "in-at-least-one-image": _("Is it true of at least one image?"),
    "in-each-image": _("Is it true of each image?"),
    "in-one-other-image": _("Is it true of one image and the other?"),
    "relocate": _("Find what is asked for"),
    "find-num": _("Find the number that belongs to it"),
    "find-date": _("Find the date that belongs to it"),
    "find-max-num": _("Take the one with the largest number"),
    "find-min-num": _("Take the one with the smallest number"),
    "num-compare": _("Compare the numbers"),
    "date-compare": _("Compare the dates"),
    "addition": _("Add both numbers"),
    "subtraction": _("Subtract the second number from the first"),
    "extract-answer": _("Find the answer"),
}


def describe_module(module: str, argument: str | None) -> str:
    """Return the label of a step, or its module's name if it has none."""
    if module.isdecimal():
        return translated("The number %(number)s") % {"number": module}
    words = str(WORDS.get(module, module.replace("-", " ")))
    return f"{words}: “{argument}”" if argument else words
