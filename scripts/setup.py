"""Make the virtual environment.

Run ``python3 scripts/setup.py run|dev|hashed``.

``hashed`` is ``run`` from requirements-hashed.txt: pip refuses each file whose hash is not listed there.

It runs before anything is installed, so it keeps to the standard library and to words that an older Python
can read too: such a Python must get the sentence that says so, and no syntax error.
"""

import importlib.util
import os
import shutil
import subprocess
import sys
from typing import NoReturn

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
VENV = os.path.join(ROOT, ".venv")
NPM = ["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"]
REQUIREMENTS = {
    "run": ["requirements.txt"],
    "dev": ["requirements.txt", "requirements-dev.txt"],
    "hashed": ["requirements-hashed.txt"],
}


def stop(sentence: str) -> NoReturn:
    """End with one sentence and status 1."""
    sys.stderr.write(sentence + "\n")
    sys.exit(1)


def main(kind: str) -> None:
    """Install the packages of ``kind`` and leave the stamp for make."""
    if sys.version_info < (3, 11):  # noqa: UP036 - this file is what tells an older Python
        stop(
            "Touchstone needs Python 3.11 or newer, and this is {}.{}: install it, then name it with "
            "make PYTHON=/path/to/python3.".format(*sys.version_info)
        )
    make_environment()
    say = "Installing what %s (the first time takes some minutes and about 2 GB of disk) ..."
    print(say % ("the checks and tests need" if kind == "dev" else "Touchstone runs on"), flush=True)
    pip = [os.path.join(VENV, "bin", "python"), "-m", "pip", "--disable-pip-version-check", "install"]
    # torch is pinned in requirements.txt, which is also a constraint: nothing may bring another build.
    files = [part for name in REQUIREMENTS[kind] for part in ("--requirement", name)]
    # Python compiles what the tests import; compiling every module takes a third of the work.
    compiled = ["--no-compile"] if kind == "dev" else []
    checked = ["--require-hashes"] if kind == "hashed" else ["--constraint", "requirements.txt"]
    if call_with_progress([*pip, *compiled, *checked, *files]):
        stop(
            "pip could not install the requirements; its message is above. "
            + ("See docs/how-to/install.md." if kind == "hashed" else "Run the command again.")
        )
    # The command touchstone of this checkout; what it needs is there already.
    # Its build tools are installed already if hashes are required; otherwise pip fetches them.
    build = ["--no-build-isolation"] if kind == "hashed" else []
    if call_with_progress([*pip, "--no-deps", *build, "--editable", "."]):
        stop(
            "pip could not install the command touchstone; its message is above. Run the same command again."
        )
    install_front_end(kind)
    # make asks for these stamps alone; without them it would install again.
    name = ".dev" if kind == "dev" else ".run"
    with open(os.path.join(VENV, name), "w", encoding="utf-8") as stamp:
        stamp.write("installed from " + ", ".join(REQUIREMENTS[kind]) + "\n")


def call_with_progress(pip: list[str]) -> int:
    """Run pip; a terminal shows its newest line, a log its errors alone."""
    if not sys.stdout.isatty():
        return subprocess.call([*pip, "-qq"], cwd=ROOT)
    width = shutil.get_terminal_size().columns - 1
    with subprocess.Popen(pip, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        for line in process.stdout or ():
            sys.stdout.write("\r\033[K" + line.strip()[:width])
            sys.stdout.flush()
    sys.stdout.write("\r\033[K")
    return process.returncode


def make_environment() -> None:
    """Make ``.venv`` unless it is there and whole."""
    python = os.path.join(VENV, "bin", "python")
    if os.path.exists(python) and not subprocess.call(
        [python, "-c", "import pip"], stderr=subprocess.DEVNULL
    ):
        return
    if importlib.util.find_spec("ensurepip") is None:
        install_venv()
    if subprocess.call([sys.executable, "-m", "venv", "--clear", VENV]):
        stop("The virtual environment .venv could not be made; the message of python3 -m venv is above.")


def install_front_end(kind: str) -> None:
    """Fetch the packages of package.json with the npm just installed."""
    binaries = os.path.join(VENV, "bin")
    command = [os.path.join(binaries, "npm"), *NPM, *([] if kind == "dev" else ["--omit=dev"])]
    environment = dict(os.environ, PATH=binaries + os.pathsep + os.environ.get("PATH", ""))
    if subprocess.call(command, cwd=ROOT, env=environment):
        stop(
            "npm could not install the front-end packages; its message is above. Run the same command again."
        )


def install_venv() -> None:
    """Install the Debian package with ensurepip, or name the command."""
    command = ["apt-get", "install", "-y", "-q", "--no-install-recommends", "python3-venv"]
    if os.geteuid() or not shutil.which("apt-get"):
        stop("Python's venv module is missing; on Debian, install it with: apt-get install python3-venv")
    environment = dict(os.environ, DEBIAN_FRONTEND="noninteractive")
    subprocess.call(["apt-get", "update", "-q"], env=environment)
    if subprocess.call(command, env=environment):
        stop("apt-get could not install python3-venv; its message is above.")


if __name__ == "__main__":
    if len(sys.argv) != 2 or sys.argv[1] not in REQUIREMENTS:
        sys.stderr.write("usage: python3 scripts/setup.py run|dev|hashed\n")
        sys.exit(2)
    main(sys.argv[1])
