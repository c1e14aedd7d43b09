"""Which help a kernel gets is decided by what it has, not by its version."""

from types import SimpleNamespace
from typing import Any

import pytest

from hitl_nb._kernel import comm_delivery

from .client import Kernel

EXPECTED = {"6.31.0": "queued", "7.3.0": "locked", "7.4.0": "native"}


def test_each_ipykernel_gets_its_own_help(kernel: Kernel, version: str) -> None:
    ask = "from hitl_nb._kernel import comm_delivery; print(comm_delivery(get_ipython().kernel))"
    assert kernel.run(ask) == EXPECTED[version]


def test_the_answer_is_the_same_while_help_is_installed(kernel: Kernel, version: str) -> None:
    ask = "from hitl_nb._kernel import comm_delivery\nwith delivering(): print(comm_delivery(get_ipython().kernel))"
    assert kernel.run(ask) == EXPECTED[version]


def test_no_kernel_needs_no_help() -> None:
    assert comm_delivery(None) == "none"


async def _dispatch_shell(msg: Any, /, subshell_id: str | None = None) -> None: ...


@pytest.mark.parametrize(
    "kernel",
    [
        pytest.param(SimpleNamespace(), id="not ipykernel at all"),
        pytest.param(
            SimpleNamespace(
                shell_handlers={},
                dispatch_shell=_dispatch_shell,
                shell_channel_thread=None,
                _main_asyncio_lock=object(),
            ),
            id="7.x without a thread for the shell channel",
        ),
        pytest.param(
            SimpleNamespace(shell_handlers={}, dispatch_shell=_dispatch_shell, msg_queue=object()),
            id="a queue that nothing schedules into",
        ),
        pytest.param(SimpleNamespace(shell_handlers={}, dispatch_shell="?"), id="nothing to call"),
    ],
)
def test_a_kernel_we_cannot_help_is_unknown(kernel: Any) -> None:
    assert comm_delivery(kernel) == "unknown"
