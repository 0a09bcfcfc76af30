"""Where static files are served from: names with hashes, also in the imports of JavaScript modules.

Without the second, a browser could join a new module with an old one from its cache after an update.
"""

from whitenoise.storage import CompressedManifestStaticFilesStorage


class ModuleStorage(CompressedManifestStaticFilesStorage):
    """Compressed files with hashes in their names."""

    support_js_module_import_aggregation = True
