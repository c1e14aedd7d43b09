"""Who sits at this notebook, and which notebook it is: what stands in a record when nobody said anything else."""

import getpass
import os

from hitl_nb._process import shell, started_with


def user_name(name: str | None = None) -> str:
    """Give `name` if there is one, else the JupyterHub user, else the operating system's."""
    # getpass asks the password database when no variable is set; a container's user may be in neither.
    try:
        return name or os.environ.get("JUPYTERHUB_USER") or getpass.getuser()
    except (OSError, KeyError):
        return "unknown user"


def notebook_name() -> str | None:
    """Give the notebook's name, as the host says it; None if it does not.

    Jupyter Server starts a kernel with ``JPY_SESSION_NAME``; VS Code sets ``__vsc_ipynb_file__`` in the notebook.
    """
    named = started_with("JPY_SESSION_NAME") or getattr(shell(), "user_ns", {}).get("__vsc_ipynb_file__")
    return named if isinstance(named, str) and named else None
