"""The page about webhooks: its example checks what the site signs."""

import re
import textwrap
import time
from typing import Any

from jobs.webhooks.signatures import compute_signature
from studyapp.definition.participation.suspicion_flags import FLAGS
from studyapp.models import WebhookEvent
from tests.paths import ROOT

PAGE = (ROOT / "docs/reference/webhooks.md").read_text("utf-8")


def test_the_example_checks_a_signature() -> None:
    [example] = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    names: dict[str, Any] = {}
    exec(textwrap.dedent("  " + example.lstrip()), names)  # noqa: S102
    is_ours, now, body = names["is_ours"], int(time.time()), '{"name": "Straße"}'.encode()

    def header(moment: int, secret: str) -> str:
        return f"t={moment},v1={compute_signature(secret, moment, body)}"

    assert is_ours("secret", header(now, "secret"), body)
    assert not is_ours("secret", header(now, "secret"), body + b" ")
    assert not is_ours("secret", header(now, "another"), body)
    assert not is_ours("secret", header(now - 600, "secret"), body)
    assert not is_ours("secret", header(now, "secret").replace(str(now), str(now + 1)), body)


def test_every_kind_and_flag_is_on_the_page() -> None:
    assert [name for name in (*WebhookEvent.values, *FLAGS) if f"`{name}`" not in PAGE] == []
