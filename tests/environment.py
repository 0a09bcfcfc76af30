"""Environment of the test run, set before Django reads its settings (pytest loads this with ``-p``)."""

import os
import tempfile

os.environ.setdefault("SECRET_KEY", "only-for-tests")
os.environ.setdefault("VAR_DIR", tempfile.mkdtemp(prefix="touchstone-test-"))
os.environ.setdefault("DEBUG", "true")
os.environ.setdefault("LOG_LEVEL", "WARNING")
