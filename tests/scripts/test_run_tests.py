"""The test run counts passed, failed and skipped tests of both passes."""

import os
import tempfile
from pathlib import Path

import pytest

from scripts import debian, run_tests

RESULTS = """<?xml version="1.0"?><testsuites><testsuite>
<testcase name="a"/><testcase name="b"/>
<testcase name="c"><skipped message="Skipped: Chromium is not installed."/></testcase>
<testcase name="d"><skipped message="Skipped: Chromium is not installed."/></testcase>
{more}
</testsuite></testsuites>"""


def results(tmp_path: Path, more: str = "") -> Path:
    path = tmp_path / "results.xml"
    path.write_text(RESULTS.format(more=more), encoding="utf-8")
    return path


def test_the_last_line_counts_and_the_reasons_stand_before_it(tmp_path: Path, capsys: pytest.CaptureFixture):
    path = results(tmp_path)
    assert run_tests.print_summary({"SQLite": (0, path), "PostgreSQL": (0, path)}) == 0
    assert capsys.readouterr().out.splitlines()[-2:] == [
        "Skipped 4: Chromium is not installed.",
        "4 passed, 0 failed, 4 skipped",
    ]


def test_a_whole_run_counts_what_pytest_did(capsys: pytest.CaptureFixture, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(run_tests, "provide", lambda: None)
    monkeypatch.setattr(run_tests, "SERVERS", {})
    monkeypatch.setattr(run_tests, "PARALLEL", run_tests.ONE_PROCESS)  # each imports the site
    monkeypatch.setattr("sys.argv", ["run_tests", f"{__file__}::test_packages_are_installed_by_root_alone"])
    assert run_tests.main() == 0
    assert capsys.readouterr().out.splitlines()[-1] == "1 passed, 0 failed, 0 skipped"


@pytest.mark.parametrize(("room", "fits"), [(0, True), (1 << 60, False)])
def test_temporary_files_are_in_memory_if_it_has_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, room: int, fits: bool
):
    monkeypatch.setattr(run_tests, "MEMORY", tmp_path)
    monkeypatch.setattr(run_tests, "ROOM", room)
    before = tempfile.gettempdir(), os.environ.get("TMPDIR")
    with run_tests.keep_files_in_memory():
        inside = tempfile.gettempdir(), os.environ.get("TMPDIR")
        assert inside == ((str(next(tmp_path.iterdir())),) * 2 if fits else before)
    assert (tempfile.gettempdir(), os.environ.get("TMPDIR")) == before
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("kind", ["failure", "error"])
def test_a_failure_in_one_pass_fails_the_run(tmp_path: Path, capsys: pytest.CaptureFixture, kind: str):
    path = results(tmp_path, f'<testcase name="e"><{kind} message="no"/></testcase>')
    assert run_tests.print_summary({"SQLite": (1, path)}) == 1
    assert capsys.readouterr().out.splitlines()[-1] == "2 passed, 1 failed, 2 skipped"


def test_a_pass_that_broke_down_fails_the_run(tmp_path: Path, capsys: pytest.CaptureFixture):
    status = run_tests.print_summary(
        {"SQLite": (0, results(tmp_path)), "PostgreSQL": (3, tmp_path / "none.xml")}
    )
    assert status == 1
    assert capsys.readouterr().out.splitlines()[-1] == "2 passed, 1 failed, 2 skipped"


def test_no_test_for_one_pass_is_fine_and_none_at_all_is_not(tmp_path: Path):
    assert (
        run_tests.print_summary({"SQLite": (0, results(tmp_path)), "PostgreSQL": (5, tmp_path / "none.xml")})
        == 0
    )
    assert run_tests.print_summary({"SQLite": (5, tmp_path / "none.xml")}) == 1


def test_packages_are_installed_by_root_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(debian.os, "geteuid", lambda: 1000)
    sentence = debian.install(["chromium"], tmp_path / "log")
    assert sentence == "Only root can install chromium: apt-get install chromium"


def test_services_of_packages_are_not_started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    policy = tmp_path / "policy-rc.d"
    monkeypatch.setattr(debian, "POLICY", policy)
    with debian.forbid_service_starts():
        assert "exit 101" in policy.read_text()
        assert policy.stat().st_mode & 0o111
    assert not policy.exists()
    policy.write_text("its owner's")
    with debian.forbid_service_starts():
        pass
    assert policy.read_text() == "its owner's"
