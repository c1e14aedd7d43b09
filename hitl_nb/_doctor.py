"""`doctor`: why does no card appear here, or no click arrive? Each line is ok, a warning or a failure, with a way out.

It looks and changes nothing: no journal is made, no key is shown, nothing is imported that is not there already.
"""

import ast
import asyncio
import json
import os
import platform
import sqlite3
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import asdict, dataclass
from datetime import datetime
from html import escape
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Final, Literal

from hitl_nb._doors import at_home
from hitl_nb._kernel import OVERRULED, current_kernel, delivery, front_end, in_voila, marimo_notebook, server_of_kernel
from hitl_nb._process import in_a_browser, not_believed, notebook_folder, shell, started_with, user_name
from hitl_nb._text import said
from hitl_nb._use import use
from hitl_nb.errors import HitlError, NoHumanError
from hitl_nb.interrupts import approve
from hitl_nb.journal import Journal, UsedJournal, is_address
from hitl_nb.people import NOT_DRAWN, UsedPeople, stand_in

Level = Literal["ok", "warn", "fail"]

_SIGNS: Final[dict[Level, str]] = {"ok": "✓", "warn": "!", "fail": "✕"}
_KEYS: Final = (
    "OPENAI_API_KEY ANTHROPIC_API_KEY GEMINI_API_KEY GOOGLE_API_KEY AZURE_API_KEY MISTRAL_API_KEY GROQ_API_KEY "
    "DEEPSEEK_API_KEY OPENROUTER_API_KEY"
).split()
_LIBRARIES: Final = "crewai ag-ui-crewai ag-ui-protocol litellm jupyterlab notebook pandas polars psycopg mcp".split()


@dataclass(frozen=True, kw_only=True)
class Finding:
    """One thing that was looked at."""

    about: str
    """What, in a word."""

    level: Level
    """``ok``, ``warn`` (it may stand in the way) or ``fail`` (it does)."""

    found: str
    """What is the case."""

    write: str = ""
    """The line that changes it; empty where nothing has to."""

    def __post_init__(self) -> None:
        for name in ("found", "write"):  # a path, a variable, a name: whatever the environment says
            object.__setattr__(self, name, said(getattr(self, name)))


class Report:
    """What `doctor` found; readable in a bug report.

    Args:
        findings: In the order in which they matter.
    """

    def __init__(self, findings: list[Finding]) -> None:
        self.findings = findings

    @property
    def ok(self) -> bool:
        """Whether nothing fails."""
        return all(finding.level != "fail" for finding in self.findings)

    def __getitem__(self, about: str) -> Finding:
        return next(finding for finding in self.findings if finding.about == about)

    async def click(self, *, timeout: float = 60.0) -> Finding:
        """Try it: show a card, and say how long a click on it takes to arrive while this cell waits.

        Args:
            timeout: Seconds until nobody clicks any more.

        Returns:
            What came of it; it is in the report from then on, and whether a card was drawn.
        """
        tried = await _tried(timeout)
        self.findings = [each for each in self.findings if each.about not in ("drawing", "click")] + tried
        return tried[-1]

    def to_json(self) -> str:
        """Return the findings as a JSON list of objects with ``about``, ``level``, ``found`` and ``write``."""
        return json.dumps([asdict(finding) for finding in self.findings], indent=2)

    def __str__(self) -> str:
        width = max(len(finding.about) for finding in self.findings)
        lines = [f"{_SIGNS[each.level]} {each.about:<{width}}  {each.found}{_arrow(each)}" for each in self.findings]
        return "\n".join(lines)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td>{_SIGNS[each.level]}</td><td style='text-align:left'>{escape(each.about)}</td>"
            f"<td style='text-align:left'>{escape(each.found)}{_as_html(each)}</td></tr>"
            for each in self.findings
        )
        return f"<table>{rows}</table>"


def _arrow(finding: Finding) -> str:
    return f"\n    → {finding.write}" if finding.write else ""


def _as_html(finding: Finding) -> str:
    return f"<br>→ {escape(finding.write)}" if finding.write else ""


def doctor() -> Report:
    """Look at everything that decides whether a card is drawn here and a click arrives.

    In a cell, ``await hitl_nb.doctor().click()`` also tries it. From a shell it is ``hitl-nb doctor [--json]``.

    Returns:
        A `Report`; print it into a bug report.
    """
    return Report([finding for look in _LOOKS for finding in _safely(look)])


def _safely(look: Callable[[], Iterator[Finding]]) -> list[Finding]:
    """What one look finds; that it cannot be looked at is a finding, too."""
    try:
        return list(look())
    except Exception as error:
        name = look.__name__.strip("_").replace("_", " ")
        return [Finding(about=name, level="warn", found=f"cannot be looked at: {type(error).__name__}")]


def _python() -> Iterator[Finding]:
    here = f"{platform.python_version()}, hitl_nb {_version('hitl-nb') or 'not installed'}, {platform.system()}"
    known = (3, 11) <= sys.version_info[:2] <= ((3, 14) if in_a_browser() else (3, 13))  # JupyterLite has its own
    yield Finding(
        about="python",
        level="ok" if known else "warn",
        found=here,
        write="" if known else "tested with 3.11, 3.12 and 3.13: `uv venv --python 3.13`",
    )


def _kernel() -> Iterator[Finding]:
    kernel, way = current_kernel(), delivery()
    if marimo_notebook() is not None:
        name = f"marimo {_version('marimo') or ''}".strip()
    elif kernel is None:
        yield Finding(about="kernel", level="ok", found="none: a script, or a terminal; cards need a notebook")
        return
    else:
        name = f"{getattr(kernel, 'implementation', type(kernel).__module__)} {_version('ipykernel') or ''}".strip()
    if way == "unknown":
        yield Finding(
            about="kernel",
            level="fail",
            found=f"{name}: clicks cannot be delivered while a cell awaits",
            write=_LATER,
        )
        return
    yield Finding(about="kernel", level="ok", found=f"{name}, clicks reach a waiting cell ({way})")


_LATER: Final = "ask in one cell, `q = approve(...).start()`, and `await q` in a later one"

_HOSTS: Final = {
    "VOILA_KERNEL_ID": "Voila",
    "COLAB_RELEASE_TAG": "Colab",
    "VSCODE_PID": "VS Code",
    "DEEPNOTE_PROJECT_ID": "Deepnote",
    "JUPYTERHUB_USER": "JupyterHub",
    "KAGGLE_KERNEL_RUN_TYPE": "Kaggle",
}


def _host() -> Iterator[Finding]:
    server = server_of_kernel() if current_kernel() is not None else None
    found = [name for variable, name in _HOSTS.items() if os.environ.get(variable)]
    found += [str(server)] if server is not None and server.name not in found else []
    found += ["marimo"] if "marimo" in sys.modules else []
    found += ["JupyterLite"] if in_a_browser() else []
    said = ", ".join(found) or ("a Jupyter front end" if current_kernel() is not None else "none")
    words, line = next((OF_HOSTS[name] for name in found if name in OF_HOSTS), ("", ""))
    if in_voila() and os.environ.get("VOILA_PREHEAT") == "True":
        words += ", and preheated kernels have run all of it before anybody looks"
    level: Level = "ok" if not words else "fail" if "Deepnote" in found else "warn"
    yield Finding(about="host", level=level, found=f"{said}{words}", write=line)


OF_HOSTS: Final = {
    "Deepnote": (": draws no widgets", "open the notebook in JupyterLab"),
    "Colab": (
        ": draws a widget once it is told to",
        "from google.colab import output; output.enable_custom_widget_manager()",
    ),
    "Voila": (
        ": a page is there once all cells have run",
        "`q = approve(...).start()`, and `await q` in a task: `going = asyncio.create_task(go())`",
    ),
    "JupyterLite": (
        ": takes no click while a cell awaits",
        _LATER,
    ),
}
"""What is to be known of a host, and what to write there."""


def _shared() -> Iterator[Finding]:
    """A document of several users, as far as what is installed beside the kernel tells."""
    found = [name for name in ("jupyter-collaboration", "jupyter-server-nbmodel") if _version(name)]
    if not found:
        return
    last = "records do not reach the file while jupyter-server-nbmodel runs the cells; the journal has them"
    yield Finding(
        about="shared document",
        level="warn",
        found=f"{', '.join(found)}: a second user sees buttons once they trust the notebook; a record says at whose "
        f"notebook it was decided{f'; {last}' if 'jupyter-server-nbmodel' in found else ''}",
        write="File → Trust Notebook in the second user's page; `NotebookPerson(name)` signs for somebody else",
    )


def _front_end() -> Iterator[Finding]:
    where = front_end()
    if where == "absent":
        yield Finding(
            about="front end",
            level="fail",
            found="this kernel is run by a program (nbclient, papermill, nbval): nobody can click",
            write="HITL_NB_PEOPLE=script:answers.py, or HITL_NB_PEOPLE=inbox:10m for people elsewhere; if somebody "
            "watches all the same, HITL_NB_FRONT_END=1",
        )
        return
    sure = f" (that says {OVERRULED})" if started_with(OVERRULED) not in ("", "0") else ""
    words = "none needed" if where == "none" else f"somebody {'sits' if sure else 'may sit'} here{sure}"
    yield Finding(about="front end", level="ok", found=words)


def _people() -> Iterator[Finding]:
    instead = stand_in()
    yield Finding(
        about="people",
        level="ok" if instead is None else "warn",
        found=instead or UsedPeople.default_in_words(),
        write=""
        if instead is None
        else "start the process without the variable, or `hitl_nb.use(people=NotebookPerson())`",
    )
    for name, line in {
        "HITL_NB_PEOPLE": "hitl_nb.use(people=…)",
        "HITL_NB_JOURNAL": "hitl_nb.use(journal=…)",
        "HITL_NB_JOURNAL_PERSONAL": "Journal(..., personal=True)",
    }.items():
        if words := not_believed(name, line):
            yield Finding(about=name, level="warn", found=words)


def _script() -> Iterator[Finding]:
    """Whether the file that answers can be read; nothing in it is run."""
    kind, _, file = started_with("HITL_NB_PEOPLE").partition(":")
    if kind not in ("script", "replay"):
        return
    fault = _fault_of(notebook_folder() / file)
    yield Finding(
        about="script",
        level="fail" if fault else "ok",
        found=f"{Path(file).name}: {fault or 'can be read'}",
        write="HITL_NB_PEOPLE=script:answers.py, a path beside the notebook" if fault else "",
    )


def _fault_of(path: Path) -> str:
    try:
        text = path.read_text(encoding="utf-8")
        ast.parse(text) if path.suffix == ".py" else json.loads(text)
    except FileNotFoundError:
        return "there is no such file"
    except (OSError, SyntaxError, ValueError) as error:
        return f"cannot be read: {type(error).__name__}"
    return ""


def _widgets() -> Iterator[Finding]:
    here = {name: _version(name) for name in ("ipywidgets", "anywidget")}
    missing = [name for name, found in here.items() if found is None]
    if missing:
        names = " ".join(missing)
        yield Finding(
            about="widgets",
            level="fail",
            found=f"not in this kernel: {names}",
            write=f"`%pip install {names}`, then restart the kernel",
        )
    else:
        yield Finding(about="widgets", level="ok", found=", ".join(f"{name} {found}" for name, found in here.items()))
    yield from _browser_half()


def _browser_half() -> Iterator[Finding]:
    """Whether the pages can draw: what counts is the environment that the server runs in."""
    if current_kernel() is None:
        return
    if in_a_browser():
        yield Finding(
            about="browser half",
            level="ok",
            found="part of the site, which cannot be looked at from here; who builds it installs anywidget beside",
        )
        return
    server = server_of_kernel()
    known = server.draws_widgets if server is not None else None
    if server is not None and known is not None:
        yield Finding(
            about="browser half",
            level="ok" if known else "fail",
            found=f"anywidget's is where {server.name} looks for it"
            if known
            else f"{server.name} runs in another environment, which has no anywidget: no card is drawn",
            write="" if known else f"`{server.python} -m pip install anywidget`, then reload the page",
        )
    elif not any((folder / "anywidget").is_dir() for folder in _extension_folders()):
        yield Finding(
            about="browser half",
            level="warn",
            found="anywidget's browser half is not where this environment's JupyterLab looks for it",
            write="in the environment that runs JupyterLab: `pip install anywidget`, then reload the page",
        )


def _extension_folders() -> list[Path]:
    try:
        from jupyter_core.paths import jupyter_path
    except ImportError:
        return []
    return [Path(folder) for folder in jupyter_path("labextensions")]


def _loop() -> Iterator[Finding]:
    try:
        loop = type(asyncio.get_running_loop()).__module__.partition(".")[0]
    except RuntimeError:
        loop = "none running"
    patched = hasattr(asyncio, "_nest_patched")
    yield Finding(
        about="loop",
        level="warn" if patched else "ok",
        found=f"{loop}{', patched by nest_asyncio' if patched else ''}",
        write="top-level `await` needs no nest_asyncio: leave it out" if patched else "",
    )
    if getattr(shell(), "autoawait", True) is False:
        yield Finding(about="autoawait", level="fail", found="`await` in a cell is switched off", write="%autoawait on")


def _journal() -> Iterator[Finding]:
    words = UsedJournal.default_in_words()
    if in_a_browser():
        yield Finding(
            about="journal",
            level="warn",
            found=f"{words}: a page keeps no database; what is decided stays as records in the notebook, once saved",
            write='hitl_nb.use(journal="memory") says that this is meant',
        )
        return
    named = started_with("HITL_NB_JOURNAL").strip()
    if named in ("off", "memory"):
        yield Finding(
            about="journal",
            level="warn",
            found=f"{words}: what is decided is lost with the kernel",
            write="start without HITL_NB_JOURNAL, or with a path",
        )
        return
    if is_address(named):
        try:
            Journal(named).close()
        except HitlError as error:
            yield Finding(about="journal", level="fail", found=str(error))
            return
    elif not os.access(_nearest(notebook_folder() / (named or ".hitl_nb")), os.W_OK):
        yield Finding(
            about="journal",
            level="warn",
            found=f"{words} cannot be written, so decisions are kept in memory only",
            write='hitl_nb.use(journal="/another/path/journal.sqlite")',
        )
        return
    file = notebook_folder() / (named or ".hitl_nb/journal.sqlite")
    if not is_address(named) and file.is_file() and (fault := _lock_of(file)):
        yield Finding(
            about="journal",
            level="warn",
            found=f"{words}: {fault}",
            write="end the other program, or hitl_nb.use(journal='another.sqlite')",
        )
        return
    yield Finding(about="journal", level="ok", found=words)


def _lock_of(file: Path) -> str:
    """Why the journal's file takes no row now; nothing is written."""
    try:
        with closing(sqlite3.connect(f"{file.as_uri()}?mode=rw", uri=True, timeout=0.5, isolation_level=None)) as store:
            store.execute("BEGIN IMMEDIATE")
            store.execute("ROLLBACK")
    except sqlite3.Error as error:
        return str(error)
    return ""


def _nearest(path: Path) -> Path:
    """The path itself, or the first folder above that is there."""
    return next(each for each in (path, *path.parents) if each.exists())


def _name() -> Iterator[Finding]:
    source = "JUPYTERHUB_USER" if os.environ.get("JUPYTERHUB_USER") else "the operating system"
    yield Finding(about="name", level="ok", found=f"answers are signed {user_name()!r} (from {source})")


def _models() -> Iterator[Finding]:
    present = [name for name in _KEYS if os.environ.get(name)]
    yield Finding(about="model keys", level="ok", found=f"present: {', '.join(present)}" if present else "none present")
    found = [f"{name} {installed}" for name in _LIBRARIES if (installed := _version(name))]
    yield Finding(about="libraries", level="ok", found=", ".join(found) or "none of the extras")


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


_LOOKS: Final[tuple[Callable[[], Iterator[Finding]], ...]] = (
    *(_python, _kernel, _host, _shared, _front_end, _people, _script, _widgets, _loop, _journal, _name, _models),
)


async def _tried(timeout: float) -> list[Finding]:
    from hitl_nb.cards import UNDER_WAY  # widgets are loaded when a card is shown

    if delivery() == "unknown":
        return [
            Finding(
                about="click",
                level="fail",
                found="not tried: nothing would arrive while this cell waits",
                write=OF_HOSTS["Voila"][1] if in_voila() else _LATER,
            )
        ]
    started = time.monotonic()
    journal = Journal("memory")
    UNDER_WAY.clear()
    try:
        with use(journal=journal):
            clicked = await approve(
                "Click Approve. Does it arrive while this cell waits?", name="doctor", timeout=timeout
            )
    except NoHumanError as error:
        why = str(error).splitlines()[0]
        return [*_not_drawn(why), Finding(about="click", level="fail", found=why)]
    seconds = time.monotonic() - started
    at = {row["event"]: datetime.fromisoformat(str(row["ts"])) for row in journal}
    drawn = []
    if "shown" in at:
        took = (at["shown"] - at["asked"]).total_seconds() * 1000
        drawn = [
            Finding(about="drawing", level="ok", found=f"a page has said {took:.0f} ms later that it draws a card")
        ]
    if clicked:
        way = f", {UNDER_WAY[-1]:.0f} ms after it was made" if UNDER_WAY else ""
        words = f"a click arrived while this cell waited{way} ({seconds:.1f} s with the person's time)"
        return [*drawn, Finding(about="click", level="ok", found=words)]
    return [
        *drawn,
        Finding(
            about="click",
            level="warn",
            found=f"no Approve arrived within {seconds:.0f} s",
            write="if you have clicked: restart the kernel, reload the page, and look at the browser's console",
        ),
    ]


def _not_drawn(why: str) -> Iterator[Finding]:
    """What a page said, or that none said anything: the way out is another one."""
    if NOT_DRAWN in why:
        yield Finding(
            about="drawing",
            level="fail",
            found="a page has the card, and draws it nowhere: it does not trust this notebook, or its output is gone",
            write="File → Trust Notebook, then run this cell again",
        )
    elif "no browser has drawn it" in why:
        yield Finding(
            about="drawing",
            level="fail",
            found="no page has said a word: its browser half is missing, it is older than that, or there is none",
            write="`pip install anywidget` in the environment that runs JupyterLab, then reload the page",
        )


at_home(doctor)
