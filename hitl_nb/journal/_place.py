"""Where a journal lies, and whether SQLite's fast mode is safe there."""

import os
import stat
from contextlib import suppress
from pathlib import Path
from typing import Final

from hitl_nb._process import in_a_browser, notebook_folder
from hitl_nb._text import logger
from hitl_nb.errors import JournalError

_log = logger()

FOLDER: Final = ".hitl_nb"
FILE: Final = "journal.sqlite"

_README: Final = """\
This folder belongs to the notebooks beside it. It was made by hitl_nb (human-in-the-loop for notebooks).

journal.sqlite   every question an agent asked here, and every answer a person gave: what, who, when.
                 An SQLite database. In a notebook:

                     from hitl_nb import Journal
                     Journal().to_frame()

                 The files ending in -wal and -shm beside it are part of it while it is in use.

Passwords and other fields that are declared secret are never in it. The other arguments and answers are: treat it
as you treat the notebooks. It is ignored by git (.gitignore in this folder). Deleting the folder forgets the record,
open questions and remembered decisions; nothing else breaks.

To put the journal elsewhere: HITL_NB_JOURNAL=/path/to/journal.sqlite; to do without: HITL_NB_JOURNAL=off
In code: hitl_nb.use(journal="/path/to/journal.sqlite"), hitl_nb.use(journal="off")
"""

_OTHERS_WRITE: Final = stat.S_IWGRP | stat.S_IWOTH
_MOUNTS = Path("/proc/self/mounts")
_REMOTE: Final = frozenset("nfs nfs3 nfs4 cifs smb2 smb3 smbfs 9p afs ceph lustre glusterfs gpfs beegfs drvfs".split())


IN_A_PAGE: Final = (
    "The files of a page (JupyterLite) take no database, so no journal is kept beside the notebook; what is decided is "
    'in the notebook, once it is saved. `hitl_nb.use(journal="memory")` says that this is meant.'
)
"""SQLite fails on them in one way or another ("disk I/O error", "malformed"), and would leave its files behind."""


def default_path() -> Path:
    """Return the path of the journal beside the notebook, in a folder that explains itself and is the user's alone.

    The notebook's folder is where its kernel was started. What lies there already and is a symbolic link, or belongs
    to another user, was not made by us for this user: who put it there would read, or write, what is decided here.

    Raises:
        JournalError: The folder cannot be made, or is not to be trusted; or there is none that would take a database.
    """
    if in_a_browser():
        raise JournalError(IN_A_PAGE)
    folder = Path(FOLDER)
    try:
        folder = notebook_folder() / FOLDER
        if not os.path.lexists(folder):
            folder.mkdir(mode=0o700, exist_ok=True)
            _log.info("`%s` was made beside the notebook: what is asked and answered is kept there", FOLDER)
        _check(folder)
        for name, text in {"README.txt": _README, ".gitignore": "*\n"}.items():
            _leave(folder / name, text)
    except OSError as error:
        raise JournalError(
            f"`{folder}` cannot be made: {error}. Write `Journal('/another/path/journal.sqlite')`."
        ) from error
    return folder / FILE


def _check(folder: Path) -> None:
    found = folder.lstat()
    if stat.S_ISLNK(found.st_mode):
        wrong = "is a symbolic link"
    elif hasattr(os, "geteuid") and found.st_uid != os.geteuid():
        wrong = "belongs to another user"
    elif not stat.S_ISDIR(found.st_mode):
        raise NotADirectoryError("a file is in the way")
    else:
        if found.st_mode & _OTHERS_WRITE:
            with suppress(OSError):  # a file system without permissions
                folder.chmod(stat.S_IMODE(found.st_mode) & ~_OTHERS_WRITE)
        return
    raise JournalError(
        f"`{folder}` {wrong}, so no journal is kept there by itself. If it is meant, write "
        f"`hitl_nb.use(journal={str(folder / FILE)!r})`: a path that you give is believed."
    )


def _leave(file: Path, text: str) -> None:
    """Write a file, unless something has its name already; a link is something, and is not followed."""
    with suppress(FileExistsError), file.open("x", encoding="utf-8") as empty:
        empty.write(text)


def is_remote(path: Path) -> bool:
    """Whether the file lies on a network file system, where SQLite's WAL cannot share memory between hosts.

    JupyterHub homes often do. Only Linux tells; elsewhere SQLite's own refusal has to do.
    """
    try:
        lines = _MOUNTS.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return False
    here = os.path.realpath(path)
    kinds = {mount.replace(r"\040", " "): kind for _, mount, kind, *_ in map(str.split, lines)}
    holding = [mount for mount in kinds if here.startswith(mount.rstrip("/") + "/")]
    kind = kinds[max(holding, key=len)] if holding else ""
    return kind in _REMOTE or kind.startswith("fuse.")
