"""The commands ``reproduce``: a publication's numbers beside ours."""

import sys
from collections.abc import Mapping, Sequence
from json import dumps
from pathlib import Path

from ..io.whole_files import hash_file, write_text
from ..report.page import Block, write_page
from ..reproductions import schuff2020, subramanian2020, suhr2019
from ..reproductions.claims import Result, as_json, check
from ..reproductions.published import Paper
from ..reproductions.reproduction_page import build_page, summarise_verdicts
from .options import Count, print_json


def reproduce_schuff2020(
    *, data: Path, out: Path, resamples: Count = 2000, seed: Count = 1, json: bool = False
) -> None:
    """Compute the numbers of Schuff et al. (2020) from the released ratings.

    Args:
        data: The released ratings, `data.jsonl`.
        out: Folder for the page, tables, figures, JSON and a bundle of the study.
        resamples: Bootstrap replicates of the figures; 0 for no confidence intervals.
        seed: Seed of the bootstrap.
        json: Print JSON.
    """
    ratings = schuff2020.read(data, out / "bundle", seed=seed, resamples=resamples)
    results = check(schuff2020.list_claims(), ratings)
    figures = schuff2020.draw_figures(ratings)
    _write(schuff2020.PAPER, results, schuff2020.FINDINGS, [data], out, json=json, figures=figures)


def reproduce_subramanian2020(*, data: Path, out: Path, json: bool = False) -> None:
    """Compute the numbers of Subramanian et al. (2020) from the released gold.

    Args:
        data: The folder `dataset` of the release, or one with its files.
        out: Folder for the page, tables and JSON.
        json: Print JSON.
    """
    results = check(subramanian2020.list_claims(), subramanian2020.read(data))
    inputs = list(subramanian2020.find_files(data).values())
    _write(subramanian2020.PAPER, results, subramanian2020.FINDINGS, inputs, out, json=json)


def reproduce_suhr2019(*, data: Sequence[Path], out: Path, json: bool = False) -> None:
    """Compute the numbers of Suhr and Artzi (2019) from the released examples.

    Args:
        data: A file of examples, such as `dev.json`, `train.json` or `balanced_dev.json`; may be repeated.
        out: Folder for the page, tables and JSON.
        json: Print JSON.
    """
    results = check(suhr2019.list_claims(), suhr2019.read(data))
    _write(suhr2019.PAPER, results, suhr2019.FINDINGS, data, out, json=json)


def _write(
    paper: Paper,
    results: Sequence[Result],
    findings: Sequence[str],
    inputs: Sequence[Path],
    out: Path,
    *,
    json: bool,
    figures: Mapping[str, Sequence[Block]] | None = None,
) -> None:
    """Write the page with its files, and print JSON or a sentence."""
    hashes = {path.name: hash_file(path) for path in inputs}
    paths = write_page(build_page(paper, results, findings, figures or {}, hashes), out)
    result = {"paper": paper.citation, "inputs": hashes, **as_json(results)}
    write_text(out / "reproduction.json", dumps(result, indent=2, ensure_ascii=False) + "\n")
    if json:
        print_json(result)
    else:
        sys.stdout.write(f"{summarise_verdicts(results)}\n{paths[0]}\n")
