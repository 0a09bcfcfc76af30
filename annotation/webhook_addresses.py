"""Where webhooks may lead: to addresses of the public internet, never to what only this machine reaches.

The name is resolved once, every address it has is checked, and the connection goes to the one that was
checked: a name that says something else when it is asked again leads nowhere.
"""

import ipaddress
import socket
from urllib.parse import urlsplit

from annotation.errors import AnnotationError


class Refused(AnnotationError):
    """A webhook's address is none that is delivered to; the message says why."""


def checked_address(url: str, *, allow_private: bool) -> str:
    """The address to connect to for a URL. Raises Refused where there is none, or one is not public."""
    parts = urlsplit(url)
    host = parts.hostname
    if parts.scheme not in ("http", "https") or not host:
        raise Refused(f"{url!r} is no http or https address")
    try:
        port = parts.port or (443 if parts.scheme == "https" else 80)
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, ValueError) as error:
        raise Refused(f"the address of {host} cannot be found: {error}") from error
    addresses = list(dict.fromkeys(str(one[4][0]) for one in found))
    if not allow_private:
        for address in addresses:
            if not is_public(address):
                raise Refused(f"{host} is {address}, which is no public address")
    return addresses[0]


def is_public(address: str) -> bool:
    """Whether an IP address belongs to the public internet; also that which an IPv6 address wraps."""
    parsed = ipaddress.ip_address(address.partition("%")[0])
    if isinstance(parsed, ipaddress.IPv6Address):
        inner = parsed.ipv4_mapped or parsed.sixtofour
        if parsed in _NAT64:
            inner = ipaddress.IPv4Address(parsed.packed[-4:])
        if inner is not None:
            return is_public(str(inner))
    return parsed.is_global and not parsed.is_multicast and not parsed.is_reserved


_NAT64 = ipaddress.ip_network("64:ff9b::/96")
