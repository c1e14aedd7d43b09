"""Tools of a session: what the model is told of them, and who gives their result – a person, or code of yours."""

from hitl_nb._tools._define import frontend_tool, human_in_the_loop
from hitl_nb._tools._kinds import FrontendTool, HumanTool, SessionTool
from hitl_nb._tools._toolbox import ToolBox

__all__ = ["FrontendTool", "HumanTool", "SessionTool", "ToolBox", "frontend_tool", "human_in_the_loop"]
