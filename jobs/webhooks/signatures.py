"""The signature with which a receiver knows that a delivery is ours."""

import hashlib
import hmac


def compute_signature(secret: str, moment: int, body: bytes) -> str:
    """Return the HMAC-SHA256 of "TIME.BODY" in hexadecimal digits."""
    return hmac.new(secret.encode(), f"{moment}.".encode() + body, hashlib.sha256).hexdigest()
