"""Static files with hashes in their names and in imports of modules.

Without hashes in imports, a browser could combine a new JavaScript module with an
old one from its cache after an update.
"""

from whitenoise.storage import CompressedManifestStaticFilesStorage


class ModuleStorage(CompressedManifestStaticFilesStorage):
    """Compressed files with hashes in their names."""

    support_js_module_import_aggregation = True
