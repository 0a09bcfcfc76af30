"""Origin of a request: the address and the name that limits count by."""

import ipaddress
import re
from collections.abc import Mapping

from django.conf import settings
from django.http import HttpRequest

# Some proxies add the port: 192.0.2.1:4711, [2001:db8::1]:4711
_WITH_PORT = re.compile(r"(?:\[(.+)\]|([\d.]+)):\d+")


def find_client_address(request: HttpRequest) -> str:
    """Return the network address of the client, "" if it is unknown.

    Behind a proxy this is the last address of X-Forwarded-For, which the proxy wrote; the client may have
    forged the others. Other texts are ignored, because the database stores addresses alone. Of an IPv6
    address it is the network of 64 bits: a machine may take any address in it, and would pass every limit.
    """
    forwarded = request.headers.get("X-Forwarded-For", "").rpartition(",")[2] if settings.BEHIND_PROXY else ""
    for candidate in (forwarded.strip(), str(request.META.get("REMOTE_ADDR", ""))):
        with_port = _WITH_PORT.fullmatch(candidate)
        try:
            address = ipaddress.ip_address(with_port[1] or with_port[2] if with_port else candidate)
        except ValueError:
            continue
        return _truncate_address(address)
    return ""


def _truncate_address(address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> str:
    if isinstance(address, ipaddress.IPv4Address):
        return str(address)
    network = ipaddress.IPv6Address(int(address) >> 64 << 64)
    return str(address.ipv4_mapped or network)


def read_login_name(request: HttpRequest, credentials: Mapping[str, str] | None = None) -> str:
    """Return the name of a login in lower case.

    The login does not tell capitals apart; if the lock-out did, each spelling would get attempts of its own.
    """
    return str((credentials or request.POST).get("username", "")).strip().lower()[:255]
