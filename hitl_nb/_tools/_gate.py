"""A real function behind a person: it runs only after exactly these arguments were approved."""

import inspect
import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from hitl_nb._tools._kinds import HumanTool, keywords_of

_log = logging.getLogger("hitl_nb")


@dataclass(frozen=True, kw_only=True, repr=False)
class GateTool(HumanTool):
    """A tool that a person approves and the kernel then runs. Made by `gate`.

    Two tools, one that asks and one that does, can be told apart by a model, which then calls only the second
    (CopilotKit#3442). So the check stands in front of the function itself.
    """

    function: Callable[..., Any]
    """What runs after the approval; plain or async."""

    when: Callable[[Any], Any] | None
    """Gets the validated arguments and says whether a person is needed; None: always."""

    def needs_person(self, args: Any) -> bool:
        """Whether these arguments need an approval. Fail closed: a `when` that raises or is no plain False asks."""
        if self.when is None:
            return True
        try:
            return self.when(args) is not False
        except Exception:
            _log.exception("`when` of the gate `%s` failed; a person is asked", self.name)
            return True

    async def run(self, args: Any) -> Any:
        """Run the function with approved arguments and give what it returns.

        Raises:
            Exception: Whatever the function raised.
        """
        value = self.function(**keywords_of(args))
        return await value if inspect.isawaitable(value) else value
