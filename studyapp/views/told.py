"""What people are told on pages without questions: those who do not take part, cannot, or withdrew.

Each function gives what the template ``participant/message.html`` takes. The preview of the studio shows the
same pages.
"""

from typing import Any

from django.urls import reverse
from django.utils.translation import gettext as _

from studyapp.definition.recruitment import WayBack, Why


def declined(slug: str, back: WayBack) -> dict[str, Any]:
    """To a person who does not want to take part."""
    return {
        "title": "Touchstone",
        "heading": _("You are not taking part"),
        "paragraphs": [_("That is fine. Nothing about you was stored. You can close this page.")],
        "link_url": reverse("studyapp:consent", args=[slug]),
        "link_text": _("I changed my mind"),
        "back": back,
    }


def not_admitted(title: str, sentence: str, back: WayBack) -> dict[str, Any]:
    """To a person who came by a good link and cannot take part now."""
    return {
        "title": title,
        "heading": _("You cannot take part now"),
        "paragraphs": [sentence, _("Nothing was stored. You can close this page.")],
        "back": back,
    }


def without_link() -> dict[str, Any]:
    """To a person who came to a page of a study without its link."""
    return {
        "title": "Touchstone",
        "heading": _("Please open your study link again"),
        "paragraphs": [
            _("This page can be entered only by the link that you were given. Please open that link again."),
            _("If you came by the link just now, your browser kept no cookie. This site needs cookies to "
              "remember where you are. Please allow cookies for this site, then open the link again."),
        ],
    }  # fmt: skip


def withdrawn(how: str) -> dict[str, Any]:
    """To a person who withdrew; ``how`` is what the study promised, `delete` or `exclude`."""
    sentences = {
        "delete": _("Your answers and all else about you in this study were deleted."),
        "exclude": _("Your answers are marked as withdrawn and will not be used."),
    }
    return {
        "title": "Touchstone",
        "heading": _("You have withdrawn"),
        "paragraphs": [sentences[how], _("You can close this page now.")],
    }


def not_arrived(title: str, why: Why, parameter: str) -> dict[str, Any]:
    """To a person whom a recruitment platform sent with an address that does not hold what it should."""
    filled = {"parameter": parameter}
    heading, sentence = {
        "preview": (
            _("This is a preview"),
            _("You will see the study once you have accepted the task on the platform."),
        ),
        "missing": (
            _("Please open the study from the platform"),
            _("The address lacks %(parameter)s, which the platform adds to it.") % filled,
        ),
        "unfilled": (
            _("The platform did not fill in the address"),
            _("It should hold your id in %(parameter)s. Please tell the researchers.") % filled,
        ),
        "malformed": (
            _("The address holds no valid id"),
            _("What stands in %(parameter)s is no id. Please open the study from the platform again.")
            % filled,
        ),
        "unsigned": (
            _("Please open the study from the platform"),
            _("The address lacks the platform's signature."),
        ),
        "badly_signed": (
            _("Please open the study from the platform again"),
            _("The platform's signature in the address does not hold, or not any more."),
        ),
    }[why]
    return {"title": title, "heading": heading, "paragraphs": [sentence, _("Nothing was stored.")]}


def try_later(title: str) -> dict[str, Any]:
    """To a person whose signed address cannot be checked now."""
    return {
        "title": title,
        "heading": _("Please try again in a minute"),
        "paragraphs": [_("The platform's signature cannot be checked now."), _("Nothing was stored.")],
    }
