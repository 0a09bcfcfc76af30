"""Delete the demo's data after asking: ``make reset``.

Standard library only, because it needs no set-up.
"""

import fcntl
import os
import shutil
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def main() -> int:
    """Ask, then delete. Return 0 when nothing is left to delete, 1 otherwise."""
    var = Path(os.environ.get("VAR_DIR") or ROOT / "var").absolute()
    if not var.exists():
        print(f"There is nothing to delete: {var} does not exist.")
        return 0
    if not (var / "env").is_file():
        print(f"{var} does not look like the data of a demo (it has no file env); nothing was deleted.")
        return 1
    with (var / "lock").open("a", encoding="ascii") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print(f"A demo runs from {var}; end it first with Ctrl-C. Nothing was deleted.")
            return 1
        print(f"This deletes {var}: the database with all studies and answers, the logs and the secret key.")
        try:
            answer = input("Type yes to delete it: ")
        except EOFError:
            answer = ""
        if answer.strip() != "yes":
            print("Nothing was deleted.")
            return 1
        shutil.rmtree(var)
    print("Deleted.")
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit("\nNothing was deleted.")
