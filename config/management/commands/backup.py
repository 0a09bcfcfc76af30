"""Back the site up."""

import argparse
from pathlib import Path
from typing import Any

from accounts.errors import NotAllowed
from config.backups.backup import back_up, delete_older
from config.backups.encryption import read_key
from jobs.commands.base import JobCommand, parse_count, read_actor_option


class Command(JobCommand):
    help = "Write database, images, files of jobs, reports and settings into one archive, while people work."

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("folder", type=Path, help="where the backups lie")
        parser.add_argument("--key-file", type=Path, metavar="FILE", help="encrypt with this key")
        parser.add_argument("--keep", type=parse_count, metavar="N", help="then delete all but the newest N")
        parser.add_argument("--weights", type=Path, metavar="FOLDER", help="store this folder as well")

    def handle(self, *args: Any, **options: Any) -> None:
        by = read_actor_option(options)
        if by is not None and not by.is_superuser:
            raise NotAllowed(f"{by.username} is not an administrator of this site")
        key = read_key(options["key_file"]) if options["key_file"] else None
        path, manifest = back_up(options["folder"], key=key, weights=options["weights"])
        megabytes = path.stat().st_size / 1_000_000
        how = "encrypted" if key else "not encrypted"
        self.stdout.write(f"Wrote {path}: {len(manifest.files)} files, {megabytes:.1f} MB, {how}.")
        for older in delete_older(options["folder"], options["keep"]) if options["keep"] else []:
            self.stdout.write(f"Deleted {older}.")
