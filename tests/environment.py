"""Environment of the test run, set before Django reads its settings.

Pytest loads this module with ``-p``.
"""

import atexit
import os
import shutil
import tempfile
from pathlib import Path

os.environ.setdefault("SECRET_KEY", "only-for-tests")
if "VAR_DIR" not in os.environ:  # those of the processes that share the tests are folders in it
    os.environ["VAR_DIR"] = tempfile.mkdtemp(prefix="touchstone-test-")
    atexit.register(shutil.rmtree, os.environ["VAR_DIR"], ignore_errors=True)
os.environ.setdefault("DEBUG", "true")
os.environ.setdefault("LOG_LEVEL", "WARNING")
os.environ.setdefault("DJANGO_ADMIN", "true")  # for the tests of its pages; sites start without it
# Threads of linear algebra wait for each other by spinning: beside other tests they take three times the
# processor time for the same work. Programs that tests start inherit this.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
# Files of a site are named by the keys of rows, which are the same in the database of each test process.
if "PYTEST_XDIST_WORKER" in os.environ:
    os.environ["VAR_DIR"] = str(Path(os.environ["VAR_DIR"], os.environ["PYTEST_XDIST_WORKER"]))
# WhiteNoise warns about a missing folder of static files, and a warning fails a test.
(Path(os.environ["VAR_DIR"]) / "static").mkdir(parents=True, exist_ok=True)
