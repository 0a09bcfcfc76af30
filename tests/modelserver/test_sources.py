"""From what the command line names to loaded systems: devices, half precision, translation."""

import asyncio
import logging
import threading
from collections.abc import Sequence

import pytest
import torch

from modelserver.batching import ModelThreads
from modelserver.choices import parse
from modelserver.errors import LoadFailed, UnknownSystem, UnreadableWeights
from modelserver.fake import FakeSystem
from modelserver.schema import QAItem, QAPrediction
from modelserver.shelf import weight_bytes
from modelserver.systems import SYSTEMS, WEIGHTS
from modelserver.systems import sources as module
from modelserver.systems.sources import Copies, Hardware, expected_bytes, sources
from tests.modelserver.gates import item


class Placed(FakeSystem):
    """Answers with its device, and with the type in which torch multiplies there."""

    def __init__(self, device: str) -> None:
        super().__init__("placed")
        self.device = device
        self.model = torch.nn.Linear(2, 2)

    def predict(self, items: Sequence[QAItem]) -> list[QAPrediction]:
        kind = str(self.model(torch.ones(1, 2)).dtype).removeprefix("torch.")
        return [QAPrediction(id=one.id, answer=f"{self.device} {kind}", facts=[]) for one in items]


def test_it_works():
    found = sources(parse("qi2019,again=qi2019:" + str(WEIGHTS / "qi2019")), Hardware())
    first, again = (found[name].load() for name in ("qi2019", "again"))
    assert (first.name, again.name, first.revision) == ("qi2019", "again", again.revision)
    assert found["qi2019"].description == first.description


def test_without_a_choice_all_with_shipped_weights_are_served():
    assert set(sources(None, Hardware())) == {name for name in SYSTEMS if (WEIGHTS / name).is_dir()}


def test_what_cannot_be_served_is_said(monkeypatch, tmp_path):
    with pytest.raises(UnknownSystem, match=r"no system 'mine'; .* write mine=SYSTEM:runs/mine$"):
        sources(parse("mine=runs/mine"), Hardware())
    with pytest.raises(UnknownSystem, match=r"extractive-qa"):
        sources(parse("mine=other:runs/mine"), Hardware())
    with pytest.raises(LoadFailed, match="the device 'tpu' cannot be used"):
        sources(parse("qi2019"), Hardware(devices=("tpu",)))
    monkeypatch.setattr(module, "WEIGHTS", tmp_path)
    with pytest.raises(UnreadableWeights, match="nothing to serve"):
        sources(None, Hardware())


def test_what_weights_will_take_is_what_they_take():
    loaded = sources(parse("qi2019"), Hardware())["qi2019"].load()
    assert expected_bytes(WEIGHTS / "qi2019") == pytest.approx(weight_bytes(loaded), rel=0.05)


@pytest.mark.parametrize("content", [b"", b"12345678", b"\x02\0\0\0\0\0\0\0[]", b"\x02\0\0\0\0\0\0\0{]"])
def test_a_damaged_file_is_expected_to_take_nothing(tmp_path, content):
    (tmp_path / "model.safetensors").write_bytes(content)
    assert expected_bytes(tmp_path) == 0


def test_each_thread_asks_the_copy_on_its_device():
    hardware = Hardware(devices=("cpu:0", "cpu:1"))
    copies = Copies("placed", [Placed(device) for device in hardware.devices], hardware)

    together = threading.Barrier(2)  # neither thread can take both

    def predicted() -> str:
        together.wait(10)
        (found,) = copies.predict([item("a")])
        assert isinstance(found, QAPrediction)
        return found.answer

    async def run() -> tuple[str, str]:
        threads = ModelThreads(2)
        found = await asyncio.gather(threads.call(predicted), threads.call(predicted))
        threads.stop(within=5)
        return found

    assert set(asyncio.run(run())) == {"cpu:0 float32", "cpu:1 float32"}


def test_half_precision_is_computed_and_said_in_the_revision():
    copies = Copies("placed", [Placed("cpu")], Hardware(half=True))
    assert copies.revision == f"{FakeSystem('placed').revision}-bf16"
    assert copies.predict([item("a")])[0].answer == "cpu bfloat16"
    assert not torch.is_autocast_enabled("cpu")


class TestCompile:
    @pytest.mark.filterwarnings("ignore:.torch.jit:DeprecationWarning")  # torch's own
    def test_an_encoder_is_translated(self, bert_folder):
        found = sources(parse(f"bert=extractive-qa:{bert_folder}"), Hardware(compiled=True))["bert"].load()
        assert isinstance(found, Copies)
        assert vars(found.copies[0])["model"]._compiled_call_impl is not None

    def test_a_recurrent_system_is_not_and_the_log_says_why(self, caplog):
        with caplog.at_level(logging.WARNING):
            found = sources(parse("qi2019"), Hardware(compiled=True))["qi2019"].load()
        assert isinstance(found, Copies)
        model = vars(found.copies[0])["model"]
        assert all(one._compiled_call_impl is None for one in model.modules())
        (record,) = [one for one in caplog.records if one.getMessage() == "not compiled"]
        assert record.fields == {"system": "qi2019", "reason": "it has no encoder of transformers"}
