"""Who sits at this notebook: the name that stands in a record when nobody gave another."""

import getpass
import os


def user_name(name: str | None = None) -> str:
    """Give `name` if there is one, else the JupyterHub user, else the operating system's."""
    # getpass asks the password database when no variable is set; a container's user may be in neither.
    try:
        return name or os.environ.get("JUPYTERHUB_USER") or getpass.getuser()
    except (OSError, KeyError):
        return "unknown user"
