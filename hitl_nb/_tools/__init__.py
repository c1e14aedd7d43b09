"""Tools of a session: what the model is told of them, and who gives their result – a person, or code of yours."""

from hitl_nb._doors import at_home
from hitl_nb._tools._define import frontend_tool, human_in_the_loop
from hitl_nb._tools._kinds import (
    UNNAMED_TOOL,
    Drawing,
    FrontendTool,
    GateTool,
    HumanTool,
    InterruptHandler,
    Renderer,
    SessionTool,
    ToolBox,
    checked_drawing,
    keywords_of,
    on_interrupt,
)

__all__ = [
    "UNNAMED_TOOL",
    "Drawing",
    "FrontendTool",
    "GateTool",
    "HumanTool",
    "InterruptHandler",
    "Renderer",
    "SessionTool",
    "ToolBox",
    "checked_drawing",
    "frontend_tool",
    "human_in_the_loop",
    "keywords_of",
    "on_interrupt",
]

at_home(frontend_tool, human_in_the_loop, on_interrupt)
