"""The commands of each page run in its order, as they are typed.

They run in a folder with the files that the page names. Only what costs time is smaller: fewer examples,
steps, resamples and bots, as ``SMALLER`` says. ``PAGES`` has the files that a page finds in the folder, and
the commands that do not run, with the reasons.
"""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow
import pytest
from pyarrow import parquet

from analysis.programs import parse
from config.demo.content import READERS
from modelserver.__main__ import main as model_server
from modelserver.world import generate
from scripts.sites.commands import Commands
from scripts.sites.example import make_predictions, write
from scripts.sites.processes import ROOT, free_port, is_url_answering
from tests.analysis.bundles import planted_study
from tests.analysis.data import real_data
from tests.page_commands import Command, commands_of, pages
from tests.site import EmptySite, Site
from tests.studyapp.questions import comparison
from tests.waiting import eventually

pytestmark = pytest.mark.service

Prepare = Callable[[Site, Path], None]

GPU = "needs a GPU"
HUB = "needs a GPU and downloads an encoder"
LONG = "trains every variant for hours; tests/modelserver/training runs each of these trainers"
RELEASED = "needs released data: {}"
README = "tests/functional/test_main_job.py runs them"

# Loaded once for all commands, because importing them takes longer than most commands here.
LOADED = (
    "torch", "transformers", "pandas", "matplotlib.pyplot", "scipy.stats", "statsmodels.api",
    "modelserver.registry", "analysis.report.build",
)  # fmt: skip

# Appended to commands that begin so, the first that fits; of repeated options the last counts.
TINY = "--train 8 --dev 4 --test 4 --pretraining-scenes 8 --steps 1 --pretraining-steps 1 --check-every 1"
SMALLER = {
    "python -m modelserver world --out world --train 0": "",
    "python -m modelserver world": "--train 40 --dev 5 --test 6",
    "python -m modelserver scenes": "--train 4 --dev 4 --test 4",
    "python -m modelserver games": "--train 4 --dev 4 --test 4",
    "python -m modelserver train extractive-qa": "--steps 1 --check-every 1",
    "python -m modelserver train select-and-forget": "--train 40 --dev 5 --steps 1 --check-every 1",
    "python -m modelserver train heuristic": "--train 40 --dev 5 --word-epochs 1 --encoder-epochs 1",
    "python -m modelserver types-table": ("--train 40 --test 6 --seeds 1 --word-epochs 1 --encoder-epochs 1"),
    "python -m modelserver train text-nmn": "--train 20 --dev 4 --steps 1 --check-every 1",
    "python -m modelserver train visual-nmn": TINY,
    "python -m modelserver train lxmert": TINY,
    "python manage.py simulate_participants": "-n 3",
    "python manage.py simulate_annotators": "-n 2 --items 1",
    "python -m analysis report": "--resamples 50",
    "touchstone report": "--resamples 50",
    "python -m analysis reproduce schuff2020": "--resamples 0",
    "python -m analysis correlate": "--resamples 50",
    "python -m analysis power": "--simulations 40",
    "python -m analysis compare-faithfulness": "--trials 100",
    "python -m analysis visual-bias": "--resamples 50 --trials 100",
    "python -m benchmarks.models.reading": "--questions 4",
}


# --- files of pages ---


def two_systems(site: Site, folder: Path, second: str = "select-and-forget", questions: int = 6) -> None:
    """A dataset world-test with stored answers of two systems."""
    examples = list(generate("test", questions, 1))
    write(folder / "questions.json", examples)
    site.manage("import_dataset", "hotpot", str(folder / "questions.json"), "--name", "world-test")
    for name in ("qi2019", second):
        path = folder / f"{name}.json"
        write(path, make_predictions(examples, right=name == "qi2019"))
        site.manage("import_predictions", str(path), "--dataset", "world-test", "--system", name)


def demo(site: Site, folder: Path) -> None:
    """The dataset world-test of the demo, answered by its two systems."""
    write(folder / "demo.json", list(generate("test", READERS.questions, READERS.seed)))
    site.manage("import_dataset", "hotpot", str(folder / "demo.json"), "--name", "world-test")
    for system in READERS.systems:
        site.manage("predict", "--dataset", "world-test", "--system", system, "--wait")


def demo_and_script(site: Site, folder: Path) -> None:
    """The demo's dataset, and the script of the page of preferences.

    The page has readers save the script.
    """
    demo(site, folder)
    text = (ROOT / "docs/tutorials/preference.md").read_text(encoding="utf-8")
    ((name, script),) = re.findall(r"Save this as `(\w+\.py)`.*?```python\n(.*?)```", text, re.DOTALL)
    (folder / name).write_text(script, encoding="utf-8")


def questions_in_parquet(site: Site, folder: Path) -> None:
    """The dataset world-test, and the same questions in Parquet.

    Parquet is the form of the Hugging Face hub.
    """
    two_systems(site, folder)
    questions = json.loads((folder / "questions.json").read_text(encoding="utf-8"))
    rows = []
    for question in questions:
        titles, sentences = zip(*question["context"], strict=True)
        context = {"title": titles, "sentences": sentences}
        rows.append({"id": question["_id"], "question": question["question"], "context": context})
    (folder / "questions").mkdir()
    parquet.write_table(pyarrow.Table.from_pylist(rows), folder / "questions/test.parquet")


def example_study(site: Site, folder: Path) -> None:
    """As many questions as the study of the examples draws."""
    two_systems(site, folder, questions=26)


def film_facts_draft(site: Site, folder: Path) -> None:
    """The draft film-facts, one of whose conditions is my-system."""
    two_systems(site, folder, "my-system")
    (folder / "film-facts.yaml").write_text(
        "study: film-facts\ntitle: Films\ndataset: world-test\nitems: {count: 3, seed: 1}\n"
        "conditions: [{system: qi2019}, {system: my-system}, {ground_truth: true}]\n"
        "consent: I agree.\ninstructions: Judge.\n",
        encoding="utf-8",
    )
    site.manage("create_study", str(folder / "film-facts.yaml"))


def film_facts(site: Site, folder: Path) -> None:
    """The open study film-facts."""
    film_facts_draft(site, folder)
    site.manage("launch_study", "film-facts", "--accept", "judging=a test", "--accept", "rehearsal=a test")


def participants(site: Site, _folder: Path) -> None:
    site.manage("simulate_participants", "film-facts", "-n", "3", "--seed", "1")


def film_facts_with_data(site: Site, folder: Path) -> None:
    film_facts(site, folder)
    participants(site, folder)


def own_study(site: Site, folder: Path) -> None:
    """Questions, answers of a system, and a definition.

    Nothing is imported yet.
    """
    examples = list(generate("test", 26, 1))
    write(folder / "questions.json", examples)
    write(folder / "answers.json", make_predictions(examples, right=False))
    example = (ROOT / "docs/examples/study.yaml").read_text(encoding="utf-8")
    (folder / "study.yaml").write_text(example.replace("select-and-forget", "another"), encoding="utf-8")


def real_questions(_site: Site, folder: Path) -> None:
    examples = list(generate("dev", 8, 1))
    write(folder / "hotpot_dev_distractor_v1.json", examples)
    write(folder / "predictions.json", make_predictions(examples, right=True))


def released_files(_site: Site, folder: Path) -> None:
    """The released files of the publications; skips where they are absent."""
    for name in (
        "user_study/data.jsonl",
        "nlvr2/dev.json",
        "nlvr2/balanced_dev.json",
        "nlvr2/unbalanced_dev.json",
    ):
        path = real_data(name)
        (folder / path.name).symlink_to(path)
    (folder / "dataset").symlink_to(real_data("faithful_nmn"))


def reading_data(_site: Site, folder: Path) -> None:
    """Files in the forms of HotpotQA and Quoref."""
    write(folder / "hotpot_dev.json", [comparison(number) for number in range(4)])
    question = {"id": "1", "question": "Who is older?", "answers": [{"text": "Ann", "answer_start": 0}]}
    paragraph = {"context": "Ann was born in 1930. She sang.", "qas": [question]}
    write(folder / "quoref_dev.json", {"data": [{"title": "Ann", "paragraphs": [paragraph]}]})
    write(folder / "2wiki_dev.json", [comparison(number) for number in range(4, 8)])


def probed(site: Site, folder: Path) -> None:
    """The dataset probe-world and its questions."""
    reading_data(site, folder)
    write(folder / "questions.json", [comparison(number) for number in range(4)])
    site.manage("import_dataset", "hotpot", str(folder / "questions.json"), "--name", "probe-world")
    person(site, folder)


def clusters(_site: Site, folder: Path) -> None:
    """Write clusters of the texts of the page, as a coreference resolver does."""
    texts = map(json.loads, (folder / "texts.jsonl").read_text(encoding="utf-8").splitlines())
    lines = (json.dumps({"id": text["id"], "clusters": [[[0, 3]]]}) + "\n" for text in texts)
    (folder / "clusters.jsonl").write_text("".join(lines), encoding="utf-8")


def person(site: Site, _folder: Path) -> None:
    """The user ada."""
    site.manage("shell", "--command", "User.objects.create_user('ada', password=None)")


def make_scenes(folder: Path, *options: str) -> None:
    assert model_server(["scenes", "--out", str(folder), "--test", "4", *options]) == 0


def readers_of_reasons(site: Site, folder: Path) -> None:
    reading_data(site, folder)
    person(site, folder)


def scenes(site: Site, folder: Path) -> None:
    """Items with pictures and outputs, and ada, who may annotate them.

    A network has outputs for each item.
    """
    person(site, folder)
    make_scenes(folder / "pictures", "--train", "0", "--dev", "0")
    (folder / "items.jsonl").write_bytes((folder / "pictures/test.jsonl").read_bytes())
    lines = []
    for item in map(json.loads, (folder / "items.jsonl").read_text(encoding="utf-8").splitlines()):
        program = parse(item["program"], kind="boxes")
        modules = [
            {"index": number, "module": node.module, "probabilities": [0.9] * len(item["images"])}
            for number, node in enumerate(program.nodes)
            if node.module == "find"
        ]
        proposals = [[[0.1, 0.1, 0.5, 0.5]] for _ in item["images"]]
        lines.append(json.dumps({"id": item["external_id"], "proposals": proposals, "modules": modules}))
    for name in ("nmn.jsonl", "outputs.jsonl"):
        (folder / name).write_text("\n".join(lines) + "\n", encoding="utf-8")


def project(name: str) -> Prepare:
    """The scenes as an annotation project of this name."""

    def prepare(site: Site, folder: Path) -> None:
        scenes(site, folder)
        images = ("--images", str(folder / "pictures"))
        site.manage("import_dataset", "jsonl", str(folder / "items.jsonl"), "--name", name, *images)

    return prepare


def label_studio(site: Site, folder: Path) -> None:
    """An export of Label Studio, made from a project that is left as it was."""
    project("made")(site, folder)
    site.manage("export_gold", "made", "--out", str(folder / "export.json"), "--format", "labelstudio")


def user_ada(site: Site, _folder: Path) -> None:
    """An account without a role."""
    site.manage("shell", "-v", "0", "-c", "User.objects.get_or_create(username='ada')")


def token(site: Site, folder: Path) -> None:
    """Further items for the project dogs, and a token of its manager."""
    project("dogs")(site, folder)
    site.manage("annotation_members", "dogs", "ada", "manager")
    code = (
        "from accounts.actions.tokens import create_token; "
        "print(create_token(name='script', scope='manage', days=7, by=User.objects.get(username='ada')).key)"
    )
    key = site.manage("shell", "--verbosity", "0", "--command", code).split()[-1]
    (folder / ".environment").write_text(json.dumps({"TOKEN": key, "SITE": site.url}), encoding="utf-8")


def faithful(_site: Site, folder: Path) -> None:
    """Gold and outputs of two systems over images, and of one over passages."""

    def lines(name: str, *values: object) -> None:
        (folder / name).write_text("".join(json.dumps(value) + "\n" for value in values), encoding="utf-8")

    box, other = [0.1, 0.1, 0.5, 0.5], [0.6, 0.6, 0.9, 0.9]
    find = {"index": 1, "module": "find"}
    ids = ("e1", "e2", "e3")
    lines("gold.jsonl", *({"id": name, "modules": [find | {"boxes": [[box], []]}]} for name in ids))
    for name, share in (("first", 0.9), ("second", 0.2)):
        modules = [find | {"probabilities": [share, 0.3, 0.1]}]
        proposals = [[box, other], [other]]
        lines(f"{name}.jsonl", *({"id": id_, "proposals": proposals, "modules": modules} for id_ in ids))
    lines("passages.jsonl", {"id": "p1", "modules": [{"module": "find", "spans": [[0, 2]]}]})
    lines("spans.jsonl", {"id": "p1", "modules": [{"module": "find", "attention": [0.5, 0.3, 0.2]}]})


def bundles(_site: Site, folder: Path) -> None:
    """A bundle, a plan, gold and predictions."""
    planted_study(folder / "bundle")
    plan = {"hypotheses": ["They differ."], "family": [["over_estimation", "one", "two"]]}
    write(folder / "plan.json", plan)
    examples = list(generate("test", 8, 1))
    write(folder / "gold.json", examples)
    write(folder / "predictions.json", make_predictions(examples, right=False))


def image_pairs(_site: Site, folder: Path) -> None:
    """Examples in the form of NLVR2, and predictions of two systems."""
    rows = [
        {"identifier": f"dev-{pair}-{at}", "left_url": f"{pair}/l", "right_url": f"{pair}/r", "label": label}
        for pair in range(6)
        for at, label in enumerate(("True", "False" if pair % 2 else "True"))
    ]
    (folder / "dev.json").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    lines = "".join(f"{row['identifier']},{row['label']}\n" for row in rows)
    (folder / "first.csv").write_text(lines, encoding="utf-8")
    write(folder / "second.json", {row["identifier"]: "True" for row in rows})


def tiny_scenes(_site: Site, folder: Path) -> None:
    make_scenes(folder / "build/visual-scenes", "--train", "8", "--dev", "4", "--proposals")


# --- pages ---


@dataclass(frozen=True)
class Page:
    """The way in which the commands of a page run.

    Attributes:
        prepare: Prepares the folder and the site before its first command.
        left_out: Regular expressions of commands that do not run, and why.
        meanwhile: Changes of the site before a command, by a part of the command.
        is_long: Its commands train or predict for so long that `make soak` alone runs them.
    """

    prepare: Prepare = lambda _site, _folder: None
    left_out: dict[str, str] = field(default_factory=dict)
    meanwhile: dict[str, Prepare] = field(default_factory=dict)
    is_long: bool = False


PAGES = {
    "README.md": Page(
        left_out={"make demo": "tests/functional/test_demo.py", "make test": "", "python": README}
    ),
    "docs/coming-from/label-studio.md": Page(label_studio, is_long=True),
    "docs/coming-from/notebooks.md": Page(),
    "docs/coming-from/otree-and-jatos.md": Page(example_study),
    "docs/how-to/accounts.md": Page(
        left_out={
            "createsuperuser": "asks for a password",
            "export_account": "needs an account; tests/accounts/test_account_data.py",
            "delete_account": "needs an account; tests/accounts/test_account_data.py",
            "remove_second_factor": "needs somebody with one; tests/accounts/login/test_second_factor.py",
        }
    ),
    "docs/how-to/annotate-import-export.md": Page(scenes),
    "docs/how-to/annotate.md": Page(scenes),
    "docs/how-to/deploy.md": Page(
        left_out={"": "needs root, containers or a cluster; tests/deploy checks and starts what they name"}
    ),
    "docs/how-to/export-and-report.md": Page(
        film_facts_with_data,
        {
            "import_study_results|bundle-2020": RELEASED.format(
                "tests/studyapp/rules/test_schuff2020_release.py imports them"
            )
        },
    ),
    "docs/how-to/extractive-qa.md": Page(
        left_out={
            "--device cuda": GPU,
            "convert encoders/theirs": "tests/modelserver/inputs/test_conversion.py converts small models",
            "--system tiny": "as on predict-and-score.md, by another server",
            "data/larger|data/comparisons": "takes minutes; tests/test_trends.py trains a tiny one so",
        },
        is_long=True,
    ),
    "docs/how-to/generate-scenes-and-games.md": Page(),
    "docs/how-to/import-data.md": Page(
        real_questions,
        {"--hub": "needs the hub; tests/foundation/imports/test_hub_datasets.py has a stand-in"},
    ),
    "docs/how-to/install.md": Page(
        left_out={
            "-m build|build/notebook": "tests/test_distribution.py builds and installs the wheel",
            "make demo": "tests/functional/test_demo.py",
            "setup.py|pip install sentry": "downloads packages",
            "restore": "needs the backup of that time; tests/config/backups/test_backup.py restores one",
        }
    ),
    "docs/how-to/language-models.md": Page(
        left_out={"": "needs a language model; tests/modelserver/systems/language stands in for its server"}
    ),
    "docs/how-to/launch.md": Page(film_facts_draft),
    "docs/how-to/nlvr2.md": Page(left_out={"": "tests/test_nlvr2_page.py runs them"}),
    "docs/how-to/people.md": Page(user_ada),
    "docs/how-to/predict-and-score.md": Page(
        questions_in_parquet,
        {
            "cancel_run": "stops a run that is under way; tests/predictions has one",
            "celery": "runs until it is stopped; the site of this test has such a worker",
        },
    ),
    "docs/how-to/probe-reading.md": Page(readers_of_reasons, is_long=True),
    "docs/how-to/recruit.md": Page(film_facts),
    "docs/how-to/release.md": Page(
        left_out={
            "make|git": "checks and tags a release",
            "-m build": "tests/test_distribution.py builds the wheel",
        }
    ),
    "docs/how-to/reproduce.md": Page(
        released_files, {"trends --only": "trains for hours; tests/test_trends.py runs a tiny cell"}
    ),
    "docs/how-to/run-a-study.md": Page(own_study, meanwhile={"export_results": participants}),
    "docs/how-to/scale-out.md": Page(left_out={"": "needs Ray; tests/soak/test_ray.py runs both"}),
    "docs/how-to/simulate-annotators.md": Page(project("demo-scenes")),
    "docs/how-to/simulate.md": Page(
        film_facts,
        {"llm": "needs a language model; tests/studyapp/simulation/test_language_model.py has one"},
    ),
    "docs/how-to/study-programs.md": Page(project("scenes")),
    "docs/how-to/suggestions.md": Page(
        left_out={"": "needs a language model; tests/annotation/actions/test_output_runs.py"}
    ),
    "docs/how-to/train-on-an-encoder.md": Page(left_out={"--device cuda": HUB}, is_long=True),
    "docs/reference/annotation-api.md": Page(token),
    "docs/reference/commands.md": Page(),
    "docs/reference/design-tools.md": Page(),
    "docs/reference/faithfulness.md": Page(
        faithful, {"nlvr2.jsonl": RELEASED.format("tests/analysis/faithfulness/test_reference.py")}
    ),
    "docs/reference/model-server.md": Page(left_out={"--device cuda": GPU}),
    "docs/reference/privacy.md": Page(
        left_out={"PARTICIPANT": "needs an ID; tests/studyapp/definition/participation/test_privacy.py"}
    ),
    "docs/reference/report.md": Page(bundles),
    "docs/reference/rest-api.md": Page(
        token,
        {
            "build/notebook": "tests/test_distribution.py installs the wheel with this extra",
            "imports": "needs a file; tests/jobs and docs/tutorials/rest-api.ipynb import one",
        },
    ),
    "docs/reference/right-reasons.md": Page(probed, meanwhile={"--clusters": clusters}, is_long=True),
    "docs/reference/text-nmn.md": Page(left_out={"--device cuda": HUB, "text-table": LONG}),
    "docs/reference/visual-bias.md": Page(image_pairs),
    "docs/reference/visual-nmn.md": Page(
        tiny_scenes,
        {
            "visual-table|visual-splits": LONG,
            "visual-nlvr": RELEASED.format("tests/modelserver/training/visual_nmn/test_nlvr.py"),
        },
        is_long=True,
    ),
    "docs/tutorials/advice.md": Page(demo, is_long=True),
    "docs/tutorials/counterfactual.md": Page(demo, is_long=True),
    "docs/tutorials/own-system.md": Page(left_out={"": "tests/test_tutorial.py"}),
    "docs/tutorials/preference.md": Page(demo_and_script),
    "docs/tutorials/simulation.md": Page(demo, is_long=True),
    "docs/tutorials/study.md": Page(left_out={"": "tests/functional/test_tutorial_study.py"}),
}


def names_of_pages() -> list[str]:
    return [str(page.relative_to(ROOT)) for page in pages() if commands_of(page)]


def reasons(command: Command) -> list[str]:
    """Why a command does not run."""
    left_out = PAGES[command.page].left_out if command.page in PAGES else {}
    return [pattern for pattern in left_out if re.search(pattern, command.text)]


def test_the_table_has_every_page_and_nothing_else():
    assert sorted(PAGES) == sorted(names_of_pages())


def test_every_command_that_is_left_out_is_on_its_page():
    for name, page in PAGES.items():
        used = {pattern for command in commands_of(ROOT / name) for pattern in reasons(command)}
        assert used == set(page.left_out), name


# --- running them ---


@pytest.fixture(scope="module")
def site(empty_site: EmptySite) -> Iterator[Site]:
    with empty_site(fake=()) as running:
        yield running


@pytest.fixture(scope="module")
def commands(site: Site) -> Iterator[Commands]:
    with Commands(site.env, LOADED) as running:
        yield running


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder like a checkout, with our programs and without data."""
    for path in ROOT.iterdir():
        if path.name not in {"build", "var", "data", "runs", ".git"}:
            (tmp_path / path.name).symlink_to(path)
    (tmp_path / "build").mkdir()
    return tmp_path


class Reader:
    """Types the commands of a page.

    Attributes:
        ports: The port that a page names for a server, and the one that it has here.
    """

    def __init__(self, site: Site, commands: Commands, folder: Path, until_the_end: ExitStack) -> None:
        self.commands, self.folder, self.until_the_end = commands, folder, until_the_end
        self.ports: dict[str, str] = {}
        environment = folder / ".environment"
        variables = json.loads(environment.read_text(encoding="utf-8")) if environment.exists() else {}
        self.env = site.env | variables

    def type(self, command: Command) -> None:
        """Run a command. Raises AssertionError if it fails."""
        text = command.text
        fitting = (more for start, more in SMALLER.items() if text.startswith(f".venv/bin/{start}"))
        if smaller := next(fitting, ""):
            line, redirection, rest = text.partition(" > ")
            text = f"{line} {smaller}{redirection}{rest}"
        if " serve" in text:
            self.serve(text, command)
            return
        if forked := self.forked(command):
            more = text.removeprefix(command.text).split()
            done = self.commands.run(*forked, *more, folder=self.folder)
        else:
            for port, here in self.ports.items():
                text = text.replace(f"127.0.0.1:{port}", f"127.0.0.1:{here}")
            text = text.replace("curl ", "curl --fail --noproxy '*' ")
            done = subprocess.run(
                ["/bin/sh", "-c", text], cwd=self.folder, env=self.env, capture_output=True, text=True,
                stdin=subprocess.DEVNULL, timeout=300,
            )  # fmt: skip
        assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"

    def forked(self, command: Command) -> tuple[str, ...]:
        """Return a command's arguments if a loaded process can run it.

        Otherwise, return an empty tuple.
        """
        program, first, *rest = command.words
        if program != ".venv/bin/python" or first not in ("manage.py", "-m") or ">" in rest:
            return ()
        return tuple(rest) if first == "manage.py" else command.words[1:]

    def serve(self, text: str, command: Command) -> None:
        """Start a server that runs until the end of the page."""
        words = command.words
        named = words[words.index("--port") + 1] if "--port" in words else "8100"
        self.ports[named] = port = str(free_port())
        log = self.folder / f"{port}.log"
        with log.open("w") as output:
            process = subprocess.Popen(
                ["/bin/sh", "-c", f"exec {text} --port {port}"], cwd=self.folder, env=self.env,
                stdout=output, stderr=output,
            )  # fmt: skip
        self.until_the_end.callback(process.wait)
        self.until_the_end.callback(process.kill)
        ready = f"http://127.0.0.1:{port}/ready"
        eventually(lambda: is_url_answering(ready) or process.poll() is not None)
        assert process.poll() is None, f"{command}\n{log.read_text(encoding='utf-8')}"


RUN = [name for name in names_of_pages() if not all(map(reasons, commands_of(ROOT / name)))]


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.soak] if PAGES[name].is_long else []) for name in RUN]
)
def test_the_commands_of_the_page_run(name: str, site: Site, commands: Commands, folder: Path):
    site.manage("flush", "--no-input")
    # A new site has this workspace; the flush deletes it, too.
    site.manage("shell", "-v", "0", "-c", "Workspace.objects.create(slug='main', name='Main')")
    PAGES[name].prepare(site, folder)
    with ExitStack() as until_the_end:
        reader = Reader(site, commands, folder, until_the_end)
        for command in commands_of(ROOT / name):
            for part, happen in PAGES[name].meanwhile.items():
                if part in command.text:
                    happen(site, folder)
            if not reasons(command):
                reader.type(command)
