"""Addresses without the login that they may hold, for people to read.

Errors of the model server and its client, both log formatters and all that shows an address go through here.
"""

import re

_LOGIN = re.compile(r"(?<=://)[^\s/?#\"'<>]*@")


def redact_logins(text: str) -> str:
    """Return the text without user names and passwords of addresses in it."""
    return _LOGIN.sub("", text)
