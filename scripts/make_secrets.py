"""Make the secrets of a new site, one file each.

Run ``python3 scripts/make_secrets.py FOLDER``. Files that exist stay as they are. The folder is for its
owner alone; the files in it are readable, because container engines show them to programs that do not run as
their owner.
"""

import secrets
import sys
from pathlib import Path


def main(folder: Path) -> None:
    """Write the files that are missing, and print their names."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    database, broker = (read_or_create(folder / name) for name in ("postgres_password", "redis_password"))
    read_or_create(folder / "secret_key")
    read_or_create(folder / "model_server_token")
    read_or_create(folder / "metrics_token")
    read_or_create(folder / "database_url", f"postgres://touchstone:{database}@postgres:5432/touchstone")
    read_or_create(folder / "redis_url", f"redis://:{broker}@redis:6379/0")


def read_or_create(path: Path, value: str = "") -> str:
    """Return the content of a file, after writing it if it is missing."""
    if not path.exists():
        path.write_text(value or secrets.token_urlsafe(48), encoding="utf-8")
        print(path)
    return path.read_text(encoding="utf-8").strip()


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python3 scripts/make_secrets.py FOLDER")
    main(Path(sys.argv[1]))
