"""Messages to people who do not take part, cannot take part, or withdrew.

Each function returns the context of ``participant/message.html``. The preview of
the studio shows the same pages.
"""

from typing import Any

from django.urls import reverse
from django.utils.translation import gettext as _

from studyapp.definition.participation.recruitment import WayBack, Why


def confirm_decline(slug: str, back: WayBack) -> dict[str, Any]:
    """Tell a person who declined that nothing was stored."""
    return {
        "title": "Touchstone",
        "heading": _("You are not taking part"),
        "paragraphs": [_("That is fine. We stored nothing about you. You can close this page.")],
        "link_url": reverse("studyapp:consent", args=[slug]),
        "link_text": _("I changed my mind"),
        "back": back,
    }


def explain_refusal(title: str, reason: str, back: WayBack) -> dict[str, Any]:
    """Tell a person with a valid link why they cannot take part now."""
    return {
        "title": title,
        "heading": _("You cannot take part now"),
        "paragraphs": [reason, _("Nothing was stored. You can close this page.")],
        "back": back,
    }


def ask_for_link() -> dict[str, Any]:
    """Ask a person without the cookie of an entry link to open the link."""
    return {
        "title": "Touchstone",
        "heading": _("Please open your study link again"),
        "paragraphs": [
            _("You can open this page only through your study link. Please open that link again."),
            _("If you have just opened the link, your browser did not store a cookie. This site needs "
              "cookies to remember your progress. Please allow them, then open the link again."),
        ],
    }  # fmt: skip


def access_ended() -> dict[str, Any]:
    """Tell a participant whose cookie or personal link has ended."""
    return {
        "title": "Touchstone",
        "heading": _("This link no longer works"),
        "paragraphs": [
            _("Your personal link or your cookie has expired, or the researchers ended it."),
            _("Your earlier answers are saved. To continue, please write to the researchers."),
        ],
    }


def confirm_withdrawal(how: str) -> dict[str, Any]:
    """Confirm a withdrawal; ``how`` is `delete` or `exclude`, as promised."""
    sentences = {
        "delete": _("Your answers and all other data about you in this study were deleted."),
        "exclude": _("Your answers are marked as withdrawn and will not be used."),
    }
    return {
        "title": "Touchstone",
        "heading": _("You have withdrawn"),
        "paragraphs": [sentences[how], _("You can close this page now.")],
    }


def explain_bad_address(title: str, why: Why, parameter: str) -> dict[str, Any]:
    """Say what is wrong with the address that a recruitment platform opened."""
    filled = {"parameter": parameter}
    heading, reason = {
        "preview": (
            _("This is a preview"),
            _("You will see the study after you accept the task on the platform."),
        ),
        "missing": (
            _("Please open the study from the platform"),
            _("The address lacks %(parameter)s, which the platform should add.") % filled,
        ),
        "unfilled": (
            _("The platform did not fill in the address"),
            _("The parameter %(parameter)s should contain your ID. Please tell the researchers.") % filled,
        ),
        "malformed": (
            _("The address does not contain a valid ID"),
            _("The value of %(parameter)s is not a valid ID. Please open the study from the platform again.")
            % filled,
        ),
        "unsigned": (
            _("Please open the study from the platform"),
            _("The address lacks the platform's signature."),
        ),
        "badly_signed": (
            _("Please open the study from the platform again"),
            _("The platform's signature in the address is not valid or has expired."),
        ),
    }[why]
    return {"title": title, "heading": heading, "paragraphs": [reason, _("Nothing was stored.")]}


def try_later(title: str) -> dict[str, Any]:
    """Ask a person to come back while the signature cannot be checked."""
    return {
        "title": title,
        "heading": _("Please try again in a minute"),
        "paragraphs": [_("We cannot check the platform's signature now."), _("Nothing was stored.")],
    }
