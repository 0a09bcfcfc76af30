"""What a browser calls itself, in words that people know."""

from django.utils.translation import gettext as _
from ua_parser import parse


def browser_name(user_agent: str) -> str:
    """Return browser and system, such as Firefox on Windows.

    A text that names neither is returned as it is, and "Unknown browser" for none.
    """
    found = parse(user_agent)
    browser = found.user_agent.family if found.user_agent else user_agent or _("Unknown browser")
    return (
        _("%(browser)s on %(system)s") % {"browser": browser, "system": found.os.family}
        if found.os
        else browser
    )
