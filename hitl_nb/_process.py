"""What this process was started with: our variables and the notebook's folder, whatever a cell changes later.

Who starts a process says who answers in it. A library may load a ``.env`` from any folder above (``import crewai``
does), and a cell may call ``os.chdir``; neither is to replace the person by a script or to begin another journal.
"""

import functools
import getpass
import importlib.util
import os
import sys
import warnings
from pathlib import Path
from typing import Any, Final

_ENVIRON = Path("/proc/self/environ")
_LONGEST: Final = 100


class VariableNotBelieved(UserWarning):
    """A variable of ours was set, changed or removed after the process was started, and is not believed."""


def _environment() -> dict[str, str]:
    """The variables as the process was started with them, as far as the system tells; else those of now."""
    try:
        block = _ENVIRON.read_bytes()
    except OSError:  # no Linux, or a process that may not look at itself
        return dict(os.environ)
    entries = block.removesuffix(b"\0").split(b"\0") if block else []
    if not all(entries):  # `setproctitle` writes its title there and leaves holes
        return dict(os.environ)
    found: dict[str, str] = {}
    for entry in entries:
        name, equals, value = entry.partition(b"=")
        if equals:
            found.setdefault(os.fsdecode(name), os.fsdecode(value))  # of two the first counts, as for getenv
    return found


def shell() -> Any:
    """Return IPython's shell, if this process has one; IPython is not loaded for that."""
    get_ipython = getattr(sys.modules.get("IPython"), "get_ipython", None)
    return None if get_ipython is None else get_ipython()


def _folder() -> Path | None:
    starting = getattr(shell(), "starting_dir", None)
    try:
        return Path(starting if isinstance(starting, str) else os.getcwd())
    except OSError:  # deleted under our feet; whoever needs it says so
        return None


_started = _environment()
_started_in = _folder()
_said: set[tuple[str, str | None]] = set()


def started_with(name: str) -> str:
    """Return the value that a variable had when the process was started; "" if it had none.

    What code sets, changes or removes afterwards does not count. Where the system does not tell (there is no
    ``/proc/self/environ``), the first import of hitl_nb is the start.
    """
    return _started.get(name, "")


def notebook_folder() -> Path:
    """Return the folder of the notebook: where the kernel was started, whatever ``os.chdir`` says now.

    Without IPython it is the working directory at the first import of hitl_nb.

    Raises:
        OSError: There is no such folder any more.
    """
    return _started_in if _started_in is not None else Path.cwd()


def not_believed(name: str, line: str) -> str:
    """Return the words for a variable that is not what the process was started with; "" if it is.

    Args:
        name: The variable.
        line: What says the same in code, e.g. ``hitl_nb.use(people=…)``.
    """
    now, then = os.environ.get(name), started_with(name)
    if (now or "") == then:
        return ""
    if now is None:
        return (
            f"`{name}` was removed after this process was started with `{name}={_glimpse(then)}`, and that is not "
            f"believed: the value at the start counts. Start the process without it, or say it in code: `{line}`."
        )
    counts = f"`{name}={_glimpse(then)}` counts, with which it was started" if then else "it was started without"
    return (
        f"`{name}={_glimpse(now)}` was set after this process was started (by code, or from a `.env` that a library "
        f"loads) and is not believed: {counts}. Start the process with it, or say it in code: `{line}`."
    )


def warn_of_later(name: str, line: str, *, stacklevel: int) -> None:
    """Say `not_believed` as a warning, once a value; a `stacklevel` of 1 is the caller's line."""
    words = not_believed(name, line)
    key = (name, os.environ.get(name))
    if words and key not in _said:
        _said.add(key)
        warnings.warn(words, VariableNotBelieved, stacklevel=stacklevel + 1)


def _glimpse(value: str) -> str:
    # Not at the top: with it comes pydantic, and whoever runs pytest without one of our fixtures waits for that.
    from hitl_nb._secrets import is_address_of_something, shown_address

    line = shown_address(value.strip(), user=True) if is_address_of_something(value) else " ".join(value.split())
    return line if len(line) <= _LONGEST else f"{line[:_LONGEST]}…"


def in_a_browser() -> bool:
    """Whether this Python runs in a page of a browser (Pyodide, as in JupyterLite)."""
    return sys.platform == "emscripten"


def has_threads() -> bool:
    """Whether this Python can start a thread; one in a page cannot, unless it was built for it."""
    built = getattr(sys, "_emscripten_info", None)
    return built is None or bool(built.pthreads)


# -- who sits here, and at which notebook -------------------------------------------------------------------------


def user_name(name: str | None = None) -> str:
    """Return `name` if there is one, else the JupyterHub user, else the operating system's."""
    # getpass asks the password database when no variable is set; a container's user may be in neither.
    try:
        return name or os.environ.get("JUPYTERHUB_USER") or getpass.getuser()
    except (OSError, KeyError):
        return "unknown user"


@functools.cache
def is_shared() -> bool:
    """Whether documents may have several users here: a click says which notebook it came from, and not who clicked.

    Known where JupyterLab runs in the kernel's own environment.
    """
    return importlib.util.find_spec("jupyter_server_ydoc") is not None


def notebook_name() -> str | None:
    """Return the notebook's name, as the host says it; None if it does not.

    Jupyter Server starts a kernel with ``JPY_SESSION_NAME``; VS Code sets ``__vsc_ipynb_file__`` in the notebook.
    """
    named = started_with("JPY_SESSION_NAME") or getattr(shell(), "user_ns", {}).get("__vsc_ipynb_file__")
    return named if isinstance(named, str) and named else None


# -- what leaves the machine --------------------------------------------------------------------------------------


_QUIET: Final = {
    "CREWAI_DISABLE_TELEMETRY": "true",
    "CREWAI_DISABLE_VERSION_CHECK": "true",
    "CREWAI_TRACING_ENABLED": "false",
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
}
"""Without these CrewAI and litellm call home. A user's own setting wins."""


def keep_offline() -> None:
    """Switch CrewAI's and litellm's calls home off, unless the user has said otherwise.

    litellm reads its switch at import, so this has to run first: ``import hitl_nb`` does it.
    """
    for name, value in _QUIET.items():
        os.environ.setdefault(name, value)
