"""How a session draws and handles the checkpoints of its agent (AG-UI interrupts): the web's `useInterrupt`."""

import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from ag_ui.core import Interrupt

from hitl_nb._calls import Call
from hitl_nb._tools._kinds import Renderer
from hitl_nb.errors import ToolDefinitionError

_log = logging.getLogger("hitl_nb")


@dataclass(frozen=True, kw_only=True)
class InterruptHandler:
    """What `on_interrupt` made; one of the ``interrupts`` of a session."""

    render: Renderer | None
    """A card of `hitl_nb.cards`, or a function from the `Call` to any ipywidget; None draws the default card."""

    handler: Callable[[Call], Awaitable[object]] | None
    """A person that is asked before the session's own people: an async callable that gets the `Call`."""

    enabled: Callable[[Interrupt], object] | None
    """Whether this is about an interrupt; None: about all."""

    def takes(self, interrupt: Interrupt) -> bool:
        """Whether this is about `interrupt`; an `enabled` that raises takes nothing (the default card does)."""
        if self.enabled is None:
            return True
        try:
            return self.enabled(interrupt) is True
        except Exception:
            _log.exception("`enabled` of `on_interrupt` failed on interrupt `%s`", interrupt.id)
            return False


def on_interrupt(
    *,
    render: Renderer | None = None,
    handler: Callable[[Call], Awaitable[object]] | None = None,
    enabled: Callable[[Interrupt], object] | None = None,
) -> InterruptHandler:
    """Say how the checkpoints of an agent are drawn and handled.

    It is ``Session(agent, interrupts=[on_interrupt(render=Approval)])``. Without it every interrupt gets a card of its
    own all the same; a thread is never blocked by one that nobody draws (the web's is).

    Args:
        render: A card of `hitl_nb.cards`, or a function from the `Call` to any ipywidget. ``call.id`` is the
            interrupt's id, ``call.name`` its reason, ``call.args`` its metadata.
        handler: An async callable that gets the `Call` before the session's people: it may answer
            (``call.respond(value)``), refuse (``call.cancel()``), or return to let them.
        enabled: Gets the AG-UI ``Interrupt`` and gives True for those that this is about.

    Raises:
        ToolDefinitionError: Something of this cannot be called.
    """
    for name, value in (("render", render), ("handler", handler), ("enabled", enabled)):
        if value is not None and not callable(value):
            raise ToolDefinitionError(
                f"`{name}` of `on_interrupt` is `{value!r}`, which cannot be called. "
                "Write `on_interrupt(render=Approval)` or `on_interrupt(handler=my_async_function)`."
            )
    return InterruptHandler(render=render, handler=handler, enabled=enabled)
