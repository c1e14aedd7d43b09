"""Every model name leads here: the one place below all code that calls a model through litellm.

litellm looks each name up in ``model_alias_map``, whoever calls it and however `acompletion` was imported
(facts/crewai.md §7). A map that knows every name sends them all to one provider of ours. What goes past litellm
(CrewAI's own ``LLM("openai/...")``, a ``custom_llm_provider=`` in the call) goes past this, too.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from hitl_nb.errors import UsageError
from hitl_nb.testing._provider import the_litellm

PROVIDER = "recorded"

_direct: ContextVar[bool] = ContextVar("hitl_nb_real_model", default=False)


@contextmanager
def directly() -> Iterator[None]:
    """Let calls of litellm from this context reach the real models."""
    token = _direct.set(True)
    try:
        yield
    finally:
        _direct.reset(token)


class _EveryName(dict[str, str]):
    """The aliases that there were, and behind them one for every name."""

    def __init__(self, aliases: dict[str, str], alias: Callable[[str], str]) -> None:
        super().__init__(aliases)
        self._alias = alias

    def __bool__(self) -> bool:
        return True  # litellm passes an empty map over

    def __contains__(self, name: object) -> bool:
        return not _direct.get() or super().__contains__(name)

    def __getitem__(self, name: str) -> str:
        return super().__getitem__(name) if _direct.get() else f"{PROVIDER}/{self._alias(name)}"


@contextmanager
def every_model(handler: Any, *, alias: Callable[[str], str]) -> Iterator[None]:
    """Send every call of a model in this process to `handler`, a litellm `CustomLLM`.

    Args:
        handler: Gets the calls.
        alias: From the name in the call to the model that the handler is told.

    Raises:
        UsageError: Models are being recorded or replayed already.
    """
    litellm = the_litellm("record` and `replay")
    before = litellm.model_alias_map
    if isinstance(before, _EveryName):
        raise UsageError(
            "A session is being recorded or replayed here already. Write one `with record(...)` or `with replay(...)` "
            "after the other, not inside."
        )
    entry = {"provider": PROVIDER, "custom_handler": handler}
    litellm.custom_provider_map.append(entry)
    litellm.model_alias_map = mine = _EveryName(before, alias)
    try:
        with _every_option(litellm):
            yield
    finally:
        litellm.custom_provider_map.remove(entry)
        litellm.model_alias_map = before
        # A scripted model that came or went meanwhile has changed our copy.
        before.clear()
        before.update(mine)


@contextmanager
def _every_option(litellm: Any) -> Iterator[None]:
    """Let options through that litellm refuses for a custom provider (`user`, `reasoning_effort`): not ours to judge.

    The real provider, asked directly, refuses what it always refuses.
    """
    config = litellm.OpenAILikeChatConfig
    known = config.get_supported_openai_params

    def supported(self: Any, model: str) -> Any:
        names = known(self, model)
        return names if _direct.get() else [*names, *litellm.OPENAI_CHAT_COMPLETION_PARAMS]

    inherited = "get_supported_openai_params" not in vars(config)
    config.get_supported_openai_params = supported
    try:
        yield
    finally:
        if inherited:
            del config.get_supported_openai_params
        else:
            config.get_supported_openai_params = known
