import json
import os
import resource
import signal
import socket
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from analysis import __version__
from benchmarks.models.predictions import ROOT, run_server
from modelserver.__main__ import main
from modelserver.serving.command import MOST_PROCESSES, ComputeOptions
from modelserver.serving.fake_server import FAILS, INVALID, FakeSystem
from modelserver.wire.client import ModelClient, Retry
from modelserver.wire.errors import Unavailable
from tests.modelserver.gates import item, waiting
from tests.waiting import eventually

# The commands serve a system that says when it is at work, and stays until it may go on.
HELD_SERVER = """
import pathlib, sys, time
from modelserver.serving.fake_server import FakeSystem
from modelserver.serving.service import Service
from modelserver.serving.logs import log_to_stderr
from modelserver.serving.lifecycle import bind, run

HERE = pathlib.Path(__file__).parent

class Held(FakeSystem):
    def predict(self, items):
        if items[0].id != "warm-up":
            (HERE / "at-work").touch()
            while not (HERE / "go-on").exists():
                time.sleep(0.01)
        return super().predict(items)

log_to_stderr("info")
sys.exit(run(Service({"fake": Held}), bind("127.0.0.1", 0), drain_seconds=float(sys.argv[1])))
"""

EVERYWHERE = "0.0.0.0"  # noqa: S104 (what is tested)
OPEN_SERVER = """
import sys
from modelserver.serving.fake_server import FakeSystem
from modelserver.serving.service import Service
from modelserver.serving.logs import log_to_stderr
from modelserver.serving.lifecycle import bind, run

log_to_stderr("info")
service = Service({"fake": FakeSystem}, token=sys.argv[2] or None)
sys.exit(run(service, bind(sys.argv[1], 0), drain_seconds=5))
"""


def command(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "modelserver", *arguments],
        capture_output=True, text=True, timeout=60, cwd=ROOT, env=os.environ | environment, check=False,
    )  # fmt: skip


class TestUsage:
    def test_help_names_every_command_quickly(self):
        before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
        done = command("--help")
        assert done.returncode == 0
        for name in ("serve", "train", "predict", "evaluate", "list", "world"):
            assert f"\n│ {name} " in done.stdout
        # Seconds of processor time, which another program on the machine does not stretch.
        assert resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before < 4

    @pytest.mark.parametrize(
        "arguments",
        [
            (),
            ("dance",),
            ("serve", "--port", "http"),
            ("serve", "--port", "65536"),
            ("serve", "--queue", "0"),
            ("serve", "--systems", "a,a"),
            ("serve", "--systems", "far=http://"),
            ("serve", "--systems", "far=http://host:99999/"),
            ("serve", "--max-memory", "1.5G"),
            ("serve", "--max-memory", "0"),
            ("serve", "--device", "cuda:"),
            ("serve", "--device", "foo"),
            ("serve", "--half"),
            ("serve", "--device", "cuda:0,cuda:1", "--processes", "1"),
            ("serve", "--remote-timeout", "0"),
            ("serve", "--log-level", "loud"),
            ("predict",),
            ("predict", "qi2019", "data.json"),
            ("predict", "qi2019", "data.json", "--out", "p.json", "--threads", "0"),
            ("predict-parquet", "qi2019", "data", "--out", "p", "--part", "3", "--parts", "2"),
            ("evaluate", "qi2019", "data.json", "--device", "foo"),
            ("visual-evaluate",),
            ("visual-evaluate", "--data", "items.jsonl"),
            ("train", "qi2019", "--out", "run", "--seed", "-1"),
        ],
    )
    def test_bad_usage_exits_2(self, arguments, capsys):
        assert main(arguments) == 2
        out, err = capsys.readouterr()
        assert err.startswith("error: ") or "Usage:" in out

    def test_help_imports_no_torch(self):
        script = (
            "import sys; from modelserver.__main__ import main; main(['--help']); main(['train', '--help'])"
        )
        script += "; sys.exit('torch' in sys.modules)"
        assert subprocess.run([sys.executable, "-c", script], cwd=ROOT, check=False).returncode == 0

    def test_version(self, capsys):
        assert main(["--version"]) == 0
        assert capsys.readouterr().out.strip() == __version__

    def test_list(self, capsys):
        assert main(["list"]) == 0
        lines = capsys.readouterr().out.splitlines()
        assert lines[0].split() == ["SYSTEM", "WEIGHTS", "DESCRIPTION"]
        assert {"qi2019", "select-and-forget"} <= {line.split()[0] for line in lines[1:]}

    def test_list_as_json(self, capsys):
        assert main(["list", "--json"]) == 0
        systems = {system["name"]: system for system in json.loads(capsys.readouterr().out)}
        assert systems["qi2019"]["weights"] is True
        assert systems["lxmert"]["weights"] is False
        assert systems["lxmert"]["description"]


class TestHardware:
    @pytest.mark.parametrize(
        ("options", "devices"),
        [
            ({}, ["cpu"] * min(MOST_PROCESSES, len(os.sched_getaffinity(0)))),
            ({"processes": 3}, ["cpu"] * 3),
            ({"device": ("cuda:0", "cuda:1")}, ["cuda:0", "cuda:1"]),
            ({"device": ("cuda:0", "cuda:1"), "processes": 3}, ["cuda:0", "cuda:1", "cuda:0"]),
        ],
    )
    def test_devices_are_those_of_the_processes_in_turn(self, options, devices):
        assert [hardware.device for hardware in ComputeOptions(**options).hardware()] == devices


class TestServe:
    def test_a_taken_port_is_one_sentence(self):
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = taken.getsockname()[1]
            done = command("serve", "--port", str(port))
        assert (done.returncode, done.stdout) == (1, "")
        reason = "Address already in use; choose another with --port"
        assert done.stderr == f"error: cannot listen on 127.0.0.1 port {port}: {reason}\n"

    @pytest.mark.parametrize(("text", "reason"), [(None, "there is no such file"), ("\n", "holds no token")])
    def test_a_token_file_without_a_token(self, tmp_path, text, reason):
        path = tmp_path / "token"
        if text is not None:
            path.write_text(text)
        done = command("serve", "--port", "0", "--token-file", str(path))
        assert (done.returncode, done.stderr) == (1, f"error: {path}: {reason}\n")

    def test_an_unknown_system_lists_the_known(self):
        done = command("serve", "--port", "0", "--processes", "1", "--systems", "qi2019,nobody")
        assert done.returncode == 1
        assert done.stderr.startswith("error: no system 'nobody'; known systems: qi2019, ")

    def test_weights_that_cannot_be_read_end_it(self, tmp_path):
        done = command("serve", "--port", "0", "--processes", "1", "--systems", f"qi2019={tmp_path}")
        assert done.returncode == 1
        assert str(tmp_path) in done.stderr.splitlines()[-1]
        assert "Traceback" not in done.stderr


class TestSignals:
    @pytest.fixture
    def held(self, tmp_path):
        """Start a process whose system waits for a file.

        The system goes on when the file ``go-on`` lies beside its script.
        """
        (tmp_path / "held_server.py").write_text(HELD_SERVER)
        path = f"{tmp_path}{os.pathsep}{ROOT}"
        return lambda drain: run_server("held_server", str(drain), PYTHONPATH=path)

    @pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
    def test_queued_work_is_answered_before_the_process_ends_with_0(self, held, tmp_path, number):
        with held(20) as server, ModelClient(server.url, retry=Retry(total=0)) as client:
            with ThreadPoolExecutor(3) as pool:
                futures = [pool.submit(client.predict, "fake", [item("a")])]
                eventually((tmp_path / "at-work").exists)
                futures += [pool.submit(client.predict, "fake", [item(name)]) for name in "bc"]
                eventually(lambda: waiting(server.url) == 2)
                server.process.send_signal(number)
                (tmp_path / "go-on").touch()
                answered = [future.result().predictions[0].id for future in futures]
            assert answered == ["a", "b", "c"]
            assert server.process.wait(timeout=10) == 0

    def test_an_idle_one_ends_promptly(self, held):
        with held(20) as server:
            server.process.send_signal(signal.SIGTERM)
            assert server.process.wait(timeout=10) == 0

    @pytest.mark.parametrize(
        ("host", "token", "warned"),
        [(EVERYWHERE, "", True), (EVERYWHERE, "x", False), ("127.0.0.1", "", False)],
    )
    def test_a_server_open_to_others_without_a_token_says_so(self, tmp_path, host, token, warned):
        (tmp_path / "open_server.py").write_text(OPEN_SERVER)
        path = f"{tmp_path}{os.pathsep}{ROOT}"
        with run_server("open_server", host, token, PYTHONPATH=path) as server:
            lines = [json.loads(line) for line in server.log.read_text().splitlines()]
        assert any(line["level"] == "warning" and "--token-file" in line["event"] for line in lines) == warned

    def test_a_system_that_hangs_ends_it_with_1_when_the_time_is_up(self, held, tmp_path):
        with held(0.5) as server, ModelClient(server.url, retry=Retry(total=0)) as client:
            with ThreadPoolExecutor(1) as pool:
                future = pool.submit(client.predict, "fake", [item("a")])
                eventually((tmp_path / "at-work").exists)
                server.process.send_signal(signal.SIGTERM)
                with pytest.raises(Unavailable, match="shut down before it could answer"):
                    future.result()
            assert server.process.wait(timeout=20) == 1

    def test_the_log_is_one_json_object_a_line(self, held, tmp_path):
        (tmp_path / "go-on").touch()
        with held(20) as server, ModelClient(server.url) as client:
            client.predict("fake", [item("a")], request_id="page-1")
            server.process.send_signal(signal.SIGTERM)
            server.process.wait(timeout=10)
            lines = [json.loads(line) for line in server.log.read_text().splitlines()]
        assert [line["event"] for line in lines] == ["listening", "loaded", "request", "draining", "stopped"]
        request = lines[2]
        assert request["request_id"] == "page-1"
        assert (request["path"], request["status"], request["system"]) == ("/v1/predict", 200, "fake")
        assert all(line["time"].endswith("Z") and line["level"] == "info" for line in lines)


class TestPredict:
    ENTRIES = (
        {"_id": "a", "question": "Who sang?", "context": [["Band", ["Mira Tolland sang.", " It rained."]]]},
        {"_id": "b", "question": "Did it rain?", "context": [["Band", ["It rained."]]], "answer": "yes"},
    )

    @pytest.fixture
    def question_file(self, tmp_path) -> Path:
        path = tmp_path / "data.json"
        path.write_text(json.dumps(self.ENTRIES))
        return path

    @pytest.fixture(autouse=True)
    def _fake_system(self, monkeypatch):
        monkeypatch.setattr(
            "modelserver.evaluation.predict_file.load_system", lambda name, **_: FakeSystem(name)
        )

    def test_it_works(self, question_file, tmp_path, capsys):
        out = tmp_path / "pred.json"
        assert main(["predict", "fake", str(question_file), "--out", str(out)]) == 0
        assert json.loads(out.read_text()) == {
            "answer": {"a": "Mira Tolland", "b": "no"},
            "sp": {"a": [["Band", 0]], "b": [["Band", 0]]},
            "type": {"a": "span", "b": "no"},
            "fact_probability": {"a": [["Band", 0, 1.0], ["Band", 1, 0.0]], "b": [["Band", 0, 0.5]]},
            "answer_location": {"a": ["Band", 0, 0, 12]},
        }
        assert f"{out}: 2 predictions of fake" in capsys.readouterr().err
        assert sorted(tmp_path.iterdir()) == [question_file, out]

    @pytest.mark.parametrize(
        ("text", "words"),
        [
            ("", "not JSON"),
            ("{}", "expected a list of questions, found dict"),
            ('["x"]', "entry 1: expected an object, found str"),
            ('[{"_id": "a", "question": "", "context": []}]', "entry 1: question: it is empty"),
            ('[{"question": "q", "context": []}]', "entry 1: _id: is missing"),
            ('[{"_id": "a", "question": "q", "context": [["t", "s"]]}]',
             "entry 1: context.0.1: Input should be"),
            ('[{"_id": "a", "question": "q", "context": []}, {"_id": "a", "question": "q", "context": []}]',
             "entry 2: _id: 'a' occurs a second time"),
        ],
    )  # fmt: skip
    def test_a_malformed_file_names_entry_and_field(self, question_file, tmp_path, capsys, text, words):
        question_file.write_text(text)
        assert main(["predict", "fake", str(question_file), "--out", str(tmp_path / "pred.json")]) == 1
        message = capsys.readouterr().err
        assert message.startswith(f"error: {question_file}: ")
        assert words in message
        assert list(tmp_path.iterdir()) == [question_file]

    def test_a_missing_file(self, tmp_path, capsys):
        assert main(["predict", "fake", "no.json", "--out", str(tmp_path / "pred.json")]) == 1
        assert capsys.readouterr().err == "error: no.json: there is no such file\n"

    def test_an_output_that_cannot_be_written_is_said_before_anything_is_computed(
        self, question_file, capsys
    ):
        for out in (question_file.parent, question_file.parent / "no" / "pred.json"):
            assert main(["predict", "fake", str(question_file), "--out", str(out)]) == 1
            assert capsys.readouterr().err.startswith(f"error: {out}: cannot be written: ")

    @pytest.mark.parametrize("trouble", [FAILS, INVALID])
    def test_a_question_that_fails_stops_it_and_leaves_nothing(
        self, question_file, tmp_path, capsys, trouble
    ):
        broken = self.ENTRIES[0] | {"_id": "c", "question": f"Who? {trouble}"}
        question_file.write_text(json.dumps([*self.ENTRIES, broken]))
        out = tmp_path / "pred.json"
        assert main(["predict", "fake", str(question_file), "--out", str(out)]) == 1
        assert "c: " in capsys.readouterr().err
        assert list(tmp_path.iterdir()) == [question_file]
        assert main(["predict", "fake", str(question_file), "--out", str(out), "--keep-going"]) == 0
        assert set(json.loads(out.read_text())["answer"]) == {"a", "b"}
        assert "1 failed and are left out" in capsys.readouterr().err

    def test_batches_change_nothing(self, question_file, tmp_path):
        wide, narrow = tmp_path / "wide.json", tmp_path / "narrow.json"
        assert main(["predict", "fake", str(question_file), "--out", str(wide)]) == 0
        assert (
            main(["predict", "fake", str(question_file), "--out", str(narrow), "--max-batch-tokens", "1"])
            == 0
        )
        assert wide.read_bytes() == narrow.read_bytes()

    def test_an_old_file_is_replaced_whole(self, question_file, tmp_path, monkeypatch):
        out = tmp_path / "pred.json"
        out.write_text("old")
        from modelserver.evaluation import predict_file

        def full(*_: object, **__: object) -> None:
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(predict_file.json, "dump", full)
        assert main(["predict", "fake", str(question_file), "--out", str(out)]) == 1
        assert out.read_text() == "old"
        assert sorted(tmp_path.iterdir()) == [question_file, out]
