"""nginx and Caddy with their files of deploy/, in front of test servers.

They listen on a port of loopback.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path

from scripts.debian import find_caddy, find_nginx
from scripts.sites import servers
from scripts.sites.processes import Part, is_port_taken
from tests.deploy.certificates import Certificate
from tests.paths import ROOT


def web_proxy(folder: Path, port: int, upstreams: Sequence[int], tls: Certificate) -> Part:
    """Return nginx with TLS by ``deploy/nginx.conf``.

    Only ports, names and files are others than in that file.
    """
    program = find_nginx()
    if program is None:
        raise servers.NotAvailable("nginx is not installed (Debian package nginx-light).")
    folder.mkdir()
    configuration = (ROOT / "deploy/nginx.conf").read_text(encoding="utf-8")
    configuration = re.sub(r"server \{\s+listen 80;.*?\n\}\n", "", configuration, flags=re.DOTALL)
    configuration = re.sub(r"\n\s+listen \[::\].*", "", configuration)
    replaced = {
        "listen 443": f"listen 127.0.0.1:{port}",
        "server_name study.example.org": "server_name 127.0.0.1",
        "/etc/letsencrypt/live/study.example.org/fullchain.pem": str(tls.certificate),
        "/etc/letsencrypt/live/study.example.org/privkey.pem": str(tls.key),
        "127.0.0.1:8001": f"127.0.0.1:{upstreams[0]}",
        "127.0.0.1:8002": f"127.0.0.1:{upstreams[1]}",
    }
    for old, new in replaced.items():
        assert old in configuration, old
        configuration = configuration.replace(old, new)
    temporary = "".join(
        f"{name}_temp_path {folder};\n" for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    path = folder / "nginx.conf"
    path.write_text(
        f"daemon off; pid {folder}/pid; error_log stderr warn; events {{}}\n"
        f"http {{\naccess_log {folder}/access.log;\n{temporary}{configuration}}}\n",
        encoding="utf-8",
    )
    command = [str(program), "-e", "stderr", "-p", str(folder), "-c", str(path)]
    return Part(
        name="nginx", command=command, log=folder / "log", env=os.environ, ready=lambda: is_port_taken(port)
    )  # fmt: skip


def caddy_proxy(folder: Path, port: int, host: str, upstreams: Sequence[int]) -> Part:
    """Return Caddy with ``deploy/Caddyfile`` as it is, on a port.

    Its certificate is of its own authority.
    """
    program = find_caddy()
    if program is None:
        raise servers.NotAvailable("Caddy is not installed (Debian package caddy).")
    folder.mkdir()
    path = folder / "Caddyfile"
    path.write_text(
        "{\nadmin off\nlocal_certs\nskip_install_trust\nauto_https disable_redirects\n"
        f"default_bind 127.0.0.1\n}}\nimport {ROOT / 'deploy/Caddyfile'}\n",
        encoding="utf-8",
    )
    env = {
        **os.environ, "SITE_HOST": f"{host}:{port}",
        "XDG_DATA_HOME": str(folder), "XDG_CONFIG_HOME": str(folder),
        "WEB": " ".join(f"127.0.0.1:{upstream}" for upstream in upstreams),
    }  # fmt: skip
    command = [str(program), "run", "--config", str(path)]
    certificate = folder / "caddy/certificates/local" / host / f"{host}.crt"
    return Part(
        name="caddy", command=command, log=folder / "log", env=env,
        ready=lambda: certificate.exists() and is_port_taken(port),
    )  # fmt: skip
