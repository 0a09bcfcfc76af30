"""The site's processes hold neither torch nor transformers in memory.

Nor do they hold what only these need.
"""

import subprocess
import sys
from pathlib import Path

from scripts.sites.processes import ROOT

# As web server and worker start, and with every command: nothing may wait for its first use to come in.
START = """
import os, pkgutil, sys
from importlib import import_module
os.environ["DJANGO_SETTINGS_MODULE"] = "config.settings"
import config.wsgi
from django.urls import get_resolver
from config.celery import app
app.loader.import_default_modules()
assert get_resolver().url_patterns
assert {"predictions.tasks.predict_slice", "predictions.tasks.reduce_slice"} <= app.tasks.keys()
for name in ("config", "accounts", "predictions", "studyapp", "annotation"):
    package = import_module(name)
    for module in pkgutil.walk_packages(package.__path__, f"{name}."):
        # Django's admin is for developing; of the others one is a script in bundles, one is imported on use.
        if not module.name.endswith((".admin", ".exports.loader", ".flat.parquet")):
            import_module(module.name)
heavy = {"torch", "transformers", "tokenizers", "safetensors", "captum", "modelserver.registry"}
heavy |= {"pandas", "pyarrow"}  # 100 MB
heavy |= {"scipy.stats", "statsmodels", "matplotlib"}  # 20 MB and more in each process
heavy |= {"scipy.optimize", "scipy.special"}  # a seventh of the time that each process takes to start
print(sorted(heavy & sys.modules.keys()), "predictions.management.commands.score" in sys.modules)
"""


def test_web_server_and_worker_import_no_torch(tmp_path: Path):
    env = {"SECRET_KEY": "k" * 50, "VAR_DIR": str(tmp_path), "PATH": "/usr/bin"}
    done = subprocess.run([sys.executable, "-c", START], cwd=ROOT, env=env, capture_output=True, text=True)
    assert done.stdout.strip() == "[] True", done.stdout + done.stderr
