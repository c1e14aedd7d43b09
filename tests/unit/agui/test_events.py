import logging

import pytest
from ag_ui.core import ToolCallStartEvent

from hitl_nb.agui import parse_event
from hitl_nb.errors import ProtocolError


def test_a_dict_off_the_wire_becomes_a_typed_event():
    event = parse_event({"type": "TOOL_CALL_START", "toolCallId": "c1", "toolCallName": "ask"})
    assert event == ToolCallStartEvent(tool_call_id="c1", tool_call_name="ask")


def test_an_unknown_type_is_skipped_and_logged(caplog):
    with caplog.at_level(logging.WARNING, "hitl_nb.agui"):
        assert parse_event({"type": "THINKING_START"}) is None
    assert "THINKING_START" in caplog.text


def test_an_unknown_property_is_kept():
    event = parse_event({"type": "STEP_STARTED", "stepName": "plan", "future": 1})
    assert event.model_dump(by_alias=True)["future"] == 1


@pytest.mark.parametrize(
    ("data", "named"),
    [
        ({"type": "TOOL_CALL_START", "toolCallName": "ask"}, "toolCallId"),
        ({"type": "TOOL_CALL_ARGS", "toolCallId": "c1", "delta": {"city": "Paris"}}, "delta"),
        ({"type": "STATE_SNAPSHOT", "state": {}}, "snapshot"),
        ({"delta": "x"}, "type"),
    ],
)
def test_a_malformed_known_field_is_refused_by_name(data, named):
    with pytest.raises(ProtocolError, match=f"`{named}`"):
        parse_event(data)
