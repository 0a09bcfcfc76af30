"""Find out whether systems answer for the expected reasons."""

import argparse
import json
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import product
from pathlib import Path
from typing import Any, TypeVar, get_args

from pydantic import ValidationError

from accounts.models import User
from analysis.counterfactuals.drafts import NEAR_SYNONYM, STEPS, Drafts, draft
from analysis.counterfactuals.instances import Instance, read_instances
from analysis.counterfactuals.records import select_usable
from analysis.counterfactuals.resolvers import read_resolutions
from analysis.io.errors import InputError, find_first_problem
from analysis.io.whole_files import replace_file
from foundation.errors import BadFile, NotFound, RunFailed
from foundation.imports.whole_files import require_folder
from jobs.commands.base import BadUsage, JobCommand, parse_count, parse_system_name
from jobs.model_servers.gateway import find_served_system
from jobs.progress import Job, wait
from jobs.progress_bar import Bar
from modelserver.wire.schema import SaliencyMethod, SaliencyOptions
from predictions.actions.reading import start_probe, store_instances
from predictions.management.dataset_option import add_dataset, read_dataset_option
from predictions.models import Dataset, ReadingProbe
from predictions.queries.reading import build_hotpot_rows, count_done, read_probe_records
from predictions.tasks import SLICE, enqueue_records, read_slice

NO_METHOD = "none"
WHOLE = "whole"
Read = TypeVar("Read")


class Command(JobCommand):
    help = (
        "Ask systems questions and their counterfactuals, and which words counted, and write one record per "
        "instance for `.venv/bin/python -m analysis alignment`. Stored records are not computed again."
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        add_dataset(parser, "the questions to start from")
        parser.add_argument(
            "--system", nargs="+", action="extend", required=True, type=parse_system_name, metavar="NAME",
            help="systems of the model server",
        )  # fmt: skip
        parser.add_argument(
            "--out", type=Path, required=True, metavar="RECORDS.jsonl", help="write the records here"
        )
        parser.add_argument(
            "--method", nargs="+", choices=[*get_args(SaliencyMethod), NO_METHOD],
            default=[SaliencyOptions().method], help="of saliency (default: %(default)s)",
        )  # fmt: skip
        parser.add_argument(
            "--summary", choices=["l1", "l2", "dot"], default="l2", help="of an embedding (default: l2)"
        )
        parser.add_argument(
            "--integration-steps", type=int, default=SaliencyOptions().steps, metavar="N",
            help="of Integrated Gradients, 1 to 500 (default: %(default)s)",
        )  # fmt: skip
        parser.add_argument(
            "--baseline", choices=["mask", "zero"], default="mask", help="for absent words (default: mask)"
        )
        drafts = parser.add_argument_group("which instances")
        drafts.add_argument(
            "--reasoning", nargs="+", choices=STEPS, default=list(STEPS), help="(default: both)"
        )
        drafts.add_argument(
            "--distribution", nargs="+", choices=["in", "out"], default=["in", "out"],
            help="swaps by words within or outside those of training (default: both)",
        )  # fmt: skip
        drafts.add_argument(
            "--context", nargs="+", choices=["facts", "paragraphs", WHOLE], default=["facts", "paragraphs"],
            help="what the systems read; without known supporting facts always the whole (default: facts "
            "paragraphs)",
        )  # fmt: skip
        drafts.add_argument(
            "--near-synonyms", action="store_true",
            help="also swaps that the source lists as opposites and that hardly change the meaning",
        )  # fmt: skip
        drafts.add_argument(
            "--clusters", type=Path, metavar="FILE.jsonl",
            help="coreference clusters that fastcoref, maverick or spaCy wrote (default: by rule)",
        )  # fmt: skip
        drafts.add_argument(
            "--instances", type=Path, metavar="FILE.jsonl",
            help="take these, say as people have checked them, instead of drafts by rule",
        )  # fmt: skip
        parser.add_argument(
            "--slice", type=parse_count, default=SLICE, metavar="N",
            help="instances per task at most (default: %(default)s); long ones are fewer",
        )  # fmt: skip

    def handle(self, *args: Any, **options: Any) -> None:
        require_folder(options["out"])
        dataset, by = read_dataset_option(options)
        keys = store_instances(dataset=dataset, instances=self._instances(dataset, options))
        probes: list[ReadingProbe] = []
        try:
            for name, method in product(dict.fromkeys(options["system"]), dict.fromkeys(options["method"])):
                saliency = _parse_saliency(method, options)
                probes.append(_complete_probe(dataset, name, saliency, keys, options["slice"], by))
        except KeyboardInterrupt:
            self.stderr.write("Stopped. The records so far are stored; run probe_reading again to go on.")
            sys.exit(130)
        self._write(probes, keys, options["out"])

    def _instances(self, dataset: Dataset, options: dict[str, Any]) -> list[Instance]:
        """Return the instances and print the number left out.

        Raises:
            NotFound: None is left.
        """
        if options["instances"] is None:
            drafts = draft(
                build_hotpot_rows(dataset),
                steps=options["reasoning"],
                distributions=options["distribution"],
                extents=["" if context == WHOLE else context for context in options["context"]],
                near_synonyms=options["near_synonyms"],
                resolutions=_read(read_resolutions, options["clusters"]),
            )
        else:
            drafts = Drafts(_read(read_instances, options["instances"]) or [])
        kept = select_usable(drafts.instances, near_synonyms=options["near_synonyms"])
        if doubtful := sum(
            instance.is_doubtful for instance in drafts.instances if not options["near_synonyms"]
        ):
            drafts.skipped["instances", "", NEAR_SYNONYM] += doubtful
        if left := len(drafts.instances) - len(kept) - doubtful:
            drafts.skipped["instances", "", "rejected, or without a right answer"] += left
        for (step, extent, reason), number in drafts.skipped.items():
            self.stderr.write(f"left out: {number} × {step}{extent and f' ({extent})'}: {reason}")
        counts = Counter(
            (instance.step, instance.extent or WHOLE, instance.distribution) for instance in kept
        )
        for (step, extent, distribution), number in counts.items():
            self.stdout.write(f"{number} × {step}, {extent}, {distribution}")
        if not kept:
            raise NotFound(f"{dataset.name}: no question gives an instance")
        return kept

    def _write(self, probes: Sequence[ReadingProbe], keys: Sequence[int], out: Path) -> None:
        lines = []
        for probe in probes:
            records = list(read_probe_records(probe, keys))
            results = [record.result for record in records if record.result is not None]
            self._warn(probe, [record.error for record in records if record.error], results)
            lines += [json.dumps(result, ensure_ascii=False) + "\n" for result in results]
        if not lines:
            raise RunFailed("every instance failed")
        replace_file(out, "".join(lines))
        self.stdout.write(f"{out}: {len(lines)} records; now: .venv/bin/python -m analysis alignment {out}")

    def _warn(self, probe: ReadingProbe, errors: Sequence[str], results: Sequence[dict[str, Any]]) -> None:
        if errors:
            self.stderr.write(
                f"warning: {probe}: {len(errors)} instances failed; the first: {errors[0]}. Run "
                "probe_reading again to try them once more."
            )
        if silent := next((result["no_saliency"] for result in results if "no_saliency" in result), None):
            self.stderr.write(f"note: {probe}: answers are recorded without saliency: {silent}")
        if untold := [result["saliency_error"] for result in results if "saliency_error" in result]:
            self.stderr.write(
                f"warning: {probe}: {len(untold)} instances have no saliency and count as not aligned; the "
                f"first: {untold[0]}"
            )


def _read(read: Callable[[Path], Read], path: Path | None) -> Read | None:
    """Read a file, None without one. Raises BadFile."""
    if path is None:
        return None
    try:
        return read(path)
    except InputError as error:
        raise BadFile(error.path, str(error).partition(f"{error.path}")[2].lstrip(":, ")) from error


def _parse_saliency(method: str, options: dict[str, Any]) -> SaliencyOptions | None:
    if method == NO_METHOD:
        return None
    values = {"method": method, "baseline": options["baseline"]}
    if method != "occlusion":
        values["summary"] = options["summary"]
    if method == "integrated-gradients":
        values["steps"] = options["integration_steps"]
    try:
        return SaliencyOptions.model_validate(values)
    except ValidationError as error:
        raise BadUsage(f"--integration-steps: {find_first_problem(error)[1]}") from error


def _complete_probe(
    dataset: Dataset,
    name: str,
    saliency: SaliencyOptions | None,
    keys: Sequence[int],
    size: int,
    by: User | None,
) -> ReadingProbe:
    """Start or resume a probe and wait until it is complete.

    Raises:
        RunFailed: Its slices get lost again and again.
    """
    served = find_served_system(name)
    probe = start_probe(
        dataset=dataset, system=name, revision=served.revision, options=saliency, instances=keys, by=by
    )
    job = Job(
        run_id=probe.pk,
        task=read_slice,
        count_done=lambda: count_done(probe),
        is_finished=lambda now: now >= total,
        enqueue=lambda: enqueue_records(probe, size=size),
    )
    total = probe.records.count()
    with Bar(str(probe), total) as bar:
        enqueue_records(probe, size=size)
        wait(job, bar)
    return probe
