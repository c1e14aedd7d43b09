"""Tests with the real CrewAI and litellm; imported once, and their own warnings are not ours."""

import warnings

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import ag_ui_crewai.endpoint  # noqa: F401
    import crewai.flow.flow  # noqa: F401
    import litellm  # noqa: F401
