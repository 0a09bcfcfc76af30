"""The files of deploy/ agree with each other and with the site.

They have one command each, settings that exist, and metrics that the site has.
"""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from config.observability import metrics, site_state
from scripts.make_secrets import main as make_secrets
from scripts.sites.stack import Stack
from tests.paths import ROOT

DEPLOY = ROOT / "deploy"
UNITS = DEPLOY / "systemd"
PARTS = ("web", "worker", "beat", "modelserver", "prepare")
SETTINGS = (ROOT / "docs/reference/settings.md").read_text(encoding="utf-8")
# Of the images of others, of Python and of the proxy's own file.
FOREIGN = {
    "POSTGRES_USER", "POSTGRES_DB", "POSTGRES_PASSWORD_FILE", "SITE_HOST", "WEB", "PYTHONUNBUFFERED",
    "PYTHONDONTWRITEBYTECODE", "PATH",
}  # fmt: skip


def plain(command: list[str]) -> list[str]:
    """A command without what differs between places.

    That is program, host, host name and where the token is; and of the web servers, of which systemd starts
    two, the port and the number of processes.
    """
    words = ["python", *command[1:]]
    web = ("--port", "--workers") if "config.web_server" in words else ()
    for option in ("--host", "--hostname", "--token-file", *web):
        if option in words:
            at = words.index(option)
            words[at : at + 2] = []
    return words


def of_units() -> dict[str, list[str]]:
    commands = {}
    for name in PARTS:
        (path,) = UNITS.glob(f"touchstone-{name}*.service")
        line = re.search(r"^ExecStart=(.+)$", path.read_text(encoding="utf-8"), re.MULTILINE)
        assert line
        commands[name] = plain(shlex.split(line[1]))
    return commands


def of_compose() -> dict[str, list[str]]:
    services = yaml.safe_load((DEPLOY / "compose.yaml").read_text(encoding="utf-8"))["services"]
    services["prepare"] = services["migrate"]
    return {name: plain(services[name]["command"]) for name in PARTS}


def documents() -> Iterator[tuple[str, dict[str, Any]]]:
    for path in sorted((DEPLOY / "kubernetes").glob("*.yaml")):
        for document in yaml.safe_load_all(path.read_text(encoding="utf-8")):
            yield path.name, document


def of_kubernetes() -> dict[str, list[str]]:
    commands = {}
    for _, document in documents():
        if document["kind"] in ("Deployment", "Job"):
            (container,) = document["spec"]["template"]["spec"]["containers"]
            name = "prepare" if container["name"] == "migrate" else container["name"]
            commands[name] = plain(container["command"])
    return commands


def of_stack() -> dict[str, list[str]]:
    """Return the commands of the demo, the tests and the benchmarks.

    There, a worker also keeps the time.
    """
    stack = Stack(Path("/nowhere"), 8000, 8100)
    worker = [word for word in stack.worker().command if word != "--beat"]
    return {
        "web": plain(list(stack.web().command)),
        "worker": plain(worker),
        "modelserver": plain(list(stack.model_server().command)),
    }


@pytest.mark.parametrize("read_commands", [of_compose, of_kubernetes])
def test_every_place_starts_the_same_commands(read_commands: Any) -> None:
    assert read_commands() == of_units()


def test_they_are_those_that_the_tests_start() -> None:
    assert of_stack().items() <= of_units().items()


def test_the_image_serves_the_site_by_default() -> None:
    text = (DEPLOY / "Containerfile").read_text(encoding="utf-8")
    command = text[text.index("CMD [") + 4 :].replace("\\\n", "")
    assert plain(json.loads(command)) == of_units()["web"]
    user = re.search(r"^USER (\d+)$", text, re.MULTILINE)
    assert user
    assert f"useradd --uid {user[1]} " in text  # not --system, whose group has another number
    for _, document in documents():
        if document["kind"] in ("Deployment", "Job"):
            context = document["spec"]["template"]["spec"]["securityContext"]
            assert context["runAsUser"] == context["runAsGroup"] == int(user[1])


def test_every_setting_exists() -> None:
    compose = yaml.safe_load((DEPLOY / "compose.yaml").read_text(encoding="utf-8"))
    names = {name for service in compose["services"].values() for name in service.get("environment", {})}
    (kustomization,) = (d for file, d in documents() if file == "kustomization.yaml")
    names |= {entry.partition("=")[0] for entry in kustomization["configMapGenerator"][0]["literals"]}
    example = (DEPLOY / "site.env.example").read_text(encoding="utf-8")
    names |= set(re.findall(r"^([A-Z_]+)=", example, re.MULTILINE))
    for unit in filter(Path.is_file, UNITS.rglob("*")):
        lines = re.findall(r"^Environment=(.+)$", unit.read_text(encoding="utf-8"), re.MULTILINE)
        names |= {word.partition("=")[0] for line in lines for word in line.split()}
    unknown = [name for name in names - FOREIGN if f"`{name.removesuffix('_FILE')}`" not in SETTINGS]
    assert unknown == []


def test_secrets_are_made_once_and_named_as_the_files_say(tmp_path: Path) -> None:
    folder = tmp_path / "secrets"
    make_secrets(folder)
    first = {path.name: path.read_text(encoding="utf-8") for path in folder.iterdir()}
    make_secrets(folder)
    assert {path.name: path.read_text(encoding="utf-8") for path in folder.iterdir()} == first
    assert folder.stat().st_mode & 0o077 == 0
    assert first["postgres_password"] in first["database_url"]
    assert first["redis_password"] in first["redis_url"]
    compose = yaml.safe_load((DEPLOY / "compose.yaml").read_text(encoding="utf-8"))
    assert {Path(secret["file"]).name for secret in compose["secrets"].values()} == set(first)
    texts = " ".join(path.read_text(encoding="utf-8") for path in (DEPLOY / "kubernetes").glob("*.yaml"))
    assert set(re.findall(r"/run/secrets/touchstone/(\w+)", texts)) <= set(first)


def test_kubernetes_objects_fit_together() -> None:
    objects = list(documents())
    (kustomization,) = (d for file, d in objects if file == "kustomization.yaml")
    files = {file for file, _ in objects}
    assert files == {*kustomization["resources"], "kustomization.yaml", "autoscaling.yaml", "kserve.yaml"}
    pods = {
        d["metadata"]["name"]: d["spec"]["template"] for _, d in objects if d["kind"] in ("Deployment", "Job")
    }
    claims = {d["metadata"]["name"] for _, d in objects if d["kind"] == "PersistentVolumeClaim"}
    for _, document in objects:
        if document["kind"] == "Deployment":
            spec = document["spec"]
            assert spec["selector"]["matchLabels"] == spec["template"]["metadata"]["labels"]
        if document["kind"] == "Service":
            name = document["spec"]["selector"]["app.kubernetes.io/name"]
            (port,) = pods[name]["spec"]["containers"][0]["ports"]
            assert document["spec"]["ports"][0]["targetPort"] == port["containerPort"]
        if document["kind"] in ("ScaledObject", "HorizontalPodAutoscaler"):
            assert document["spec"]["scaleTargetRef"]["name"] in pods
    for pod in pods.values():
        (container,) = pod["spec"]["containers"]
        volumes = {volume["name"] for volume in pod["spec"]["volumes"]}
        assert {mount["name"] for mount in container["volumeMounts"]} == volumes
        for volume in pod["spec"]["volumes"]:
            if "persistentVolumeClaim" in volume:
                assert volume["persistentVolumeClaim"]["claimName"] in claims


def test_kserve_runs_the_same_model_server() -> None:
    """KServe's names are those of a pod, beside its own for scaling."""
    (service,) = (d for _, d in documents() if d["kind"] == "InferenceService")
    (deployment,) = (
        d for _, d in documents() if d["kind"] == "Deployment" and d["metadata"]["name"] == "modelserver"
    )
    predictor, pod = service["spec"]["predictor"], deployment["spec"]["template"]["spec"]
    for name in ("securityContext", "volumes", "automountServiceAccountToken"):
        assert predictor[name] == pod[name]
    (container,), (other,) = predictor["containers"], pod["containers"]
    same = other.keys() - {"ports", "startupProbe"}  # KServe waits for readiness by itself
    assert {name: container[name] for name in same} == {name: other[name] for name in same}
    of_kserve = {"minReplicas", "maxReplicas", "scaleMetric", "scaleTarget", "timeout"}
    assert predictor.keys() - pod.keys() == of_kserve


def test_board_and_alerts_read_metrics_that_the_site_has() -> None:
    source = "".join(Path(module.__file__ or "").read_text("utf-8") for module in (metrics, site_state))
    metric_names = set(re.findall(r'"(touchstone_\w+)"', source))
    board = json.loads((DEPLOY / "monitoring/grafana.json").read_text(encoding="utf-8"))
    rules = yaml.safe_load((DEPLOY / "monitoring/alerts.yaml").read_text(encoding="utf-8"))
    (scaled,) = (d for _, d in documents() if d["kind"] == "ScaledObject")
    texts = [target["expr"] for panel in board["panels"] for target in panel["targets"]]
    texts += [rule["expr"] for group in rules["groups"] for rule in group["rules"]]
    texts.append(scaled["spec"]["triggers"][0]["metadata"]["query"])
    read = {name for text in texts for name in re.findall(r"touchstone_\w+", text)}
    assert len(read) > 6
    assert {re.sub("_(total|bucket)$", "", name) for name in read} <= metric_names


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd-analyze is not installed")
def test_units_are_what_systemd_reads(tmp_path: Path) -> None:
    """With the paths of this checkout, for systemd looks for the programs."""
    for path in UNITS.rglob("*"):
        if path.is_file():
            copy = tmp_path / path.relative_to(UNITS)
            copy.parent.mkdir(exist_ok=True)
            text = path.read_text(encoding="utf-8").replace(
                "/opt/touchstone/.venv/bin/python", sys.executable
            )
            copy.write_text(text.replace("/opt/touchstone", str(ROOT)), encoding="utf-8")
    units = sorted(str(path) for path in tmp_path.iterdir() if path.is_file() and "@" not in path.name)
    for name in ("touchstone-worker", "touchstone-web"):
        shutil.copy(tmp_path / f"{name}@.service", tmp_path / f"{name}@1.service")
        units.append(str(tmp_path / f"{name}@1.service"))
    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", *units], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
