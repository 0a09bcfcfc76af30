"""Restore a backup of the site."""

import argparse
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from config.backups.encryption import read_key
from config.backups.restore import restore
from foundation.errors import TouchstoneError


class Command(BaseCommand):
    help = "Restore a backup into an empty site: checks every file first. Stop the site before."
    requires_system_checks = ("site",)

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("archive", type=Path, help="a file that backup wrote")
        parser.add_argument("--key-file", type=Path, metavar="FILE", help="the key of an encrypted one")
        parser.add_argument("--replace", action="store_true", help="delete what this site holds")
        parser.add_argument("--weights", type=Path, metavar="FOLDER", help="put stored weights here")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            key = read_key(options["key_file"]) if options["key_file"] else None
            restored = restore(
                options["archive"], key=key, replace=options["replace"], weights=options["weights"]
            )
        except TouchstoneError as error:
            raise CommandError(str(error)) from error
        manifest = restored.manifest
        when = f"made {manifest.made_at:%Y-%m-%d %H:%M} UTC"
        self.stdout.write(f"Restored {len(manifest.files)} files of version {manifest.version}, {when}.")
        for remark in restored.remarks:
            self.stdout.write(remark)
