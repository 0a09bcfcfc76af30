"""The mail with the link of an invitation."""

import logging
from smtplib import SMTPException

from django.conf import settings
from django.core.mail import send_mail
from django.utils.translation import gettext as _

from accounts.models import Invitation, Role

logger = logging.getLogger(__name__)


def has_mail_server() -> bool:
    """Return True if the site can send mail."""
    return settings.EMAIL_BACKEND != "django.core.mail.backends.dummy.EmailBackend"


def send_invitation(invitation: Invitation, link: str) -> bool:
    """Send a link to the address of an invitation; return True if it was sent.

    The person who invites has the link on their page, so a mail that fails is no error.
    """
    if not invitation.email or not has_mail_server():
        return False
    words = {
        "name": invitation.created_by.get_full_name() or invitation.created_by.username,
        "workspace": invitation.workspace.name,
        "role": Role(invitation.role).label,
        "link": link,
        "until": f"{invitation.expires_at:%Y-%m-%d}",
    }
    subject = _("Touchstone: invitation to %(workspace)s") % words
    text = (
        _(
            "%(name)s invites you to the workspace %(workspace)s, in the role %(role)s.\n\n"
            "Open this link to accept:\n%(link)s\n\n"
            "It can be used once, until %(until)s. If you did not expect it, ignore this mail."
        )
        % words
    )
    try:
        # A name is one line in the form, but the subject of a mail must never have another.
        send_mail(" ".join(subject.split()), text, None, [invitation.email])
    except (OSError, SMTPException):
        logger.exception("cannot send the mail of invitation %s", invitation.pk)
        return False
    return True
