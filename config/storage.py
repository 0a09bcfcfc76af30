"""Static files with hashes in their names and in imports of modules.

Without hashes in imports, a browser could combine a new JavaScript module with an
old one from its cache after an update.
"""

from functools import cached_property

from whitenoise.storage import CompressedManifestStaticFilesStorage


class ModuleStorage(CompressedManifestStaticFilesStorage):
    """Compressed files with hashes in their names."""

    support_js_module_import_aggregation = True

    def url(self, name: str, force: bool = False) -> str:
        """Return the address of a file, computed once: a page names six."""
        if (address := self._addresses.get(name)) is None:
            address = self._addresses[name] = super().url(name, force)
        return address

    @cached_property
    def _addresses(self) -> dict[str, str]:
        return {}
