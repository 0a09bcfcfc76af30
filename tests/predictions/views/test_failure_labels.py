"""Words for failures: every code has one."""

from typing import get_args

from modelserver.wire.schema import ItemError
from predictions.views.failure_labels import KINDS


def test_every_code_of_the_wire_has_a_label():
    assert KINDS.keys() == set(get_args(ItemError.model_fields["error"].annotation))
