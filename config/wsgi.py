"""Entry point of the web server."""

import gc
import os
from importlib import import_module

from django.core.wsgi import get_wsgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

# Nothing that is imported is garbage: looking for some takes a sixth of the start.
gc.disable()
application = get_wsgi_application()
import_module("config.urls")  # or the first visitor waits for it
gc.freeze()
gc.enable()
gc.set_threshold(10_000)  # in place of 700: a request makes more objects than that, and hardly a cycle
