"""Systems named on the command line are loaded.

The tests check devices, half precision and translation.
"""

import logging
from collections.abc import Sequence

import pytest
import torch

from modelserver.registry import SYSTEMS, WEIGHTS
from modelserver.serving import loading as module
from modelserver.serving.devices import Hardware
from modelserver.serving.fake_server import FakeSystem
from modelserver.serving.loading import ServedReader, estimate_bytes, list_sources
from modelserver.serving.system_spec import parse, select_local_specs
from modelserver.systems.base import count_weight_bytes
from modelserver.wire.errors import LoadFailed, UnknownSystem, UnreadableWeights
from modelserver.wire.schema import QAItem, QAPrediction
from tests.modelserver.gates import item


class Multiplying(FakeSystem):
    """Answers with the type in which torch multiplies."""

    def __init__(self) -> None:
        super().__init__("inner")
        self.model = torch.nn.Linear(2, 2)

    def predict(self, items: Sequence[QAItem]) -> list[QAPrediction]:
        kind = str(self.model(torch.ones(1, 2)).dtype).removeprefix("torch.")
        return [QAPrediction(id=question.id, answer=kind, facts=[]) for question in items]


def test_it_works():
    sources = list_sources(
        select_local_specs(parse("qi2019,again=qi2019:" + str(WEIGHTS / "qi2019"))), Hardware()
    )
    first, again = (sources[name].load() for name in ("qi2019", "again"))
    assert (first.name, again.name, first.revision) == ("qi2019", "again", again.revision)
    assert sources["qi2019"].about.description == first.description


def test_without_a_choice_all_with_shipped_weights_are_served():
    assert set(list_sources(None, Hardware())) == {name for name in SYSTEMS if (WEIGHTS / name).is_dir()}


def test_what_cannot_be_served_is_said(monkeypatch, tmp_path):
    with pytest.raises(UnknownSystem, match=r"no system 'mine'; .* write mine=SYSTEM:runs/mine$"):
        list_sources(select_local_specs(parse("mine=runs/mine")), Hardware())
    with pytest.raises(UnknownSystem, match=r"extractive-qa"):
        list_sources(select_local_specs(parse("mine=other:runs/mine")), Hardware())
    with pytest.raises(LoadFailed, match=r"the device 'tpu' cannot be used\. Possible here: cpu"):
        list_sources(select_local_specs(parse("qi2019")), Hardware("tpu"))
    monkeypatch.setattr(module, "WEIGHTS", tmp_path)
    with pytest.raises(UnreadableWeights, match="nothing to serve"):
        list_sources(None, Hardware())


def test_what_weights_will_take_is_what_they_take():
    loaded = list_sources(select_local_specs(parse("qi2019")), Hardware())["qi2019"].load()
    assert estimate_bytes(WEIGHTS / "qi2019") == pytest.approx(count_weight_bytes(loaded), rel=0.05)


@pytest.mark.parametrize("content", [b"", b"12345678", b"\x02\0\0\0\0\0\0\0[]", b"\x02\0\0\0\0\0\0\0{]"])
def test_a_damaged_file_is_expected_to_take_nothing(tmp_path, content):
    (tmp_path / "model.safetensors").write_bytes(content)
    assert estimate_bytes(tmp_path) == 0


def test_half_precision_is_computed_and_said_in_the_revision():
    exact = ServedReader("outer", Multiplying(), Hardware())
    half = ServedReader("outer", Multiplying(), Hardware(half=True))
    assert (exact.name, exact.revision) == ("outer", FakeSystem("inner").revision)
    assert half.revision == f"{exact.revision}-bf16"
    assert exact.predict([item("a")])[0].answer == "float32"
    assert half.predict([item("a")])[0].answer == "bfloat16"
    assert not torch.is_autocast_enabled("cpu")


class TestCompile:
    @pytest.mark.filterwarnings("ignore:.torch.jit:DeprecationWarning")  # torch's own
    def test_an_encoder_is_translated(self, bert_folder):
        system = list_sources(
            select_local_specs(parse(f"bert=extractive-qa:{bert_folder}")), Hardware(compiled=True)
        )["bert"].load()
        assert vars(vars(system)["_inner"])["model"]._compiled_call_impl is not None

    def test_a_recurrent_system_is_not_and_the_log_says_why(self, caplog):
        with caplog.at_level(logging.WARNING):
            system = list_sources(select_local_specs(parse("qi2019")), Hardware(compiled=True))[
                "qi2019"
            ].load()
        model = vars(vars(system)["_inner"])["model"]
        assert all(part._compiled_call_impl is None for part in model.modules())
        (record,) = [record for record in caplog.records if record.getMessage() == "not compiled"]
        assert record.fields == {"system": "qi2019", "reason": "it has no encoder of transformers"}
