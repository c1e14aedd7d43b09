"""Where a journal lies, and whether SQLite's fast mode is safe there."""

import os
from pathlib import Path
from typing import Final

from hitl_nb.errors import JournalError

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
"""

_MOUNTS = Path("/proc/self/mounts")
_REMOTE: Final = frozenset("nfs nfs3 nfs4 cifs smb2 smb3 smbfs 9p afs ceph lustre glusterfs gpfs beegfs drvfs".split())


def default_path() -> Path:
    """Give the path of the journal beside the notebook, in a folder that explains itself.

    A kernel's working directory is its notebook's folder.

    Raises:
        JournalError: The folder cannot be made.
    """
    folder = Path.cwd() / FOLDER
    try:
        if not folder.is_dir():
            folder.mkdir(exist_ok=True)
        for name, text in {"README.txt": _README, ".gitignore": "*\n"}.items():
            if not (folder / name).exists():
                (folder / name).write_text(text, encoding="utf-8")
    except OSError as error:
        raise JournalError(
            f"`{folder}` cannot be made: {error}. Write `Journal('/another/path/journal.sqlite')`."
        ) from error
    return folder / FILE


def is_remote(path: Path) -> bool:
    """Whether the file lies on a network file system, where SQLite's WAL cannot share memory between hosts.

    JupyterHub homes often do (facts/performance.md §6). Only Linux tells; elsewhere SQLite's own refusal has to do.
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
