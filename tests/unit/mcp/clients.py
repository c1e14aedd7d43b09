"""Both eras of MCP, and the clients of the newer library: ``make matrix`` installs an environment for them."""

import pytest

from tests.unit.mcp.newer import CLIENTS, there

NAMES = [client.__name__ for client in CLIENTS]

pytestmark = pytest.mark.timeout(900)


@pytest.fixture(scope="module")
def told():
    return there()


@pytest.mark.parametrize("client", NAMES)
def test_a_client_is_told_what_the_person_said(told, client):
    said = told[client]
    assert "accept" in said["yes"]
    assert "ada" in said["yes"]
    assert "decline" in said["no"]
    assert "cancel" in said["cancelled"]


@pytest.mark.parametrize("client", NAMES)
def test_nobody_there_is_an_error_and_never_a_no(told, client):
    assert "needs a person" in told[client]["nobody"]
    assert "decline" not in told[client]["nobody"]
