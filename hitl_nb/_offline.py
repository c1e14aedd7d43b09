"""No telemetry, version check or cost-map fetch leaves the machine, unless the user wants it to."""

import os

_QUIET = {
    "CREWAI_DISABLE_TELEMETRY": "true",
    "CREWAI_DISABLE_VERSION_CHECK": "true",
    "CREWAI_TRACING_ENABLED": "false",
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
}
"""Without these CrewAI and litellm call home (facts/crewai.md §8.3). A user's own setting wins."""


def keep_offline() -> None:
    """Switch CrewAI's and litellm's calls home off, unless the user has said otherwise.

    litellm reads its switch at import, so this has to run first: ``import hitl_nb`` does it.
    """
    for name, value in _QUIET.items():
        os.environ.setdefault(name, value)
