"""Names of browsers for people, from user-agent strings."""

from django.utils.translation import gettext as _
from ua_parser import parse


def browser_name(user_agent: str) -> str:
    """Return browser and system, such as Firefox on Windows.

    A text that names neither is returned as it is, and "Unknown browser" for none.
    """
    client = parse(user_agent)
    browser = client.user_agent.family if client.user_agent else user_agent or _("Unknown browser")
    if client.os is None:
        return browser
    return _("%(browser)s on %(system)s") % {"browser": browser, "system": client.os.family}
