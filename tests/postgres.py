"""A PostgreSQL of these tests' own: the distribution's package, a private cluster, a unix socket, a schema a test.

Nobody who installs hitl_nb needs it; `make test` installs the package. As root the server runs as ``postgres``, which
is the one thing that it insists on. It syncs nothing: what a crash of the machine does is not tested here.
"""

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.conftest import missing

_BINARIES = Path("/usr/lib/postgresql")
_SETTINGS = ("fsync=off", "max_connections=200", "listen_addresses=")


class Cluster:
    """A running server."""

    def __init__(self, folder: Path, binaries: Path) -> None:
        self.folder, self._binaries = folder, binaries
        self._schemas = 0

    def schema(self) -> str:
        """The address of an empty schema of its own."""
        self._schemas += 1
        name = f"s{self._schemas}"
        self.psql(f"CREATE SCHEMA {name}")
        return self.address(options=f"-c search_path={name}")

    def address(self, user: str = "postgres", *, options: str = "") -> str:
        escaped = options.replace(" ", "%20").replace("=", "%3D")
        return f"postgresql://{user}@/postgres?host={self.folder}&options={escaped}"

    def psql(self, sql: str) -> str:
        """What psql prints."""
        command = [str(self._binaries / "psql"), "-h", str(self.folder), "-U", "postgres", "-d", "postgres", "-qtAX"]
        done = subprocess.run([*command, "-v", "ON_ERROR_STOP=1", "-c", sql], check=True, **_QUIET)
        return str(done.stdout).strip()

    def act(self, *what: str) -> None:
        """Have pg_ctl do something."""
        settings = " ".join(f"-c {setting}" for setting in (*_SETTINGS, f"unix_socket_directories={self.folder}"))
        command = [str(self._binaries / "pg_ctl"), "-D", f"{self.folder}/data", "-l", f"{self.folder}/log", "-w"]
        subprocess.run([*command, "-o", settings, *what], check=True, **_server_user(), **_QUIET)


_QUIET: dict[str, Any] = {"capture_output": True, "text": True, "cwd": "/"}


@contextmanager
def running() -> Iterator[Cluster]:
    """A server, gone afterwards."""
    found = sorted(_BINARIES.glob("*/bin/initdb"))
    if not found:
        missing("PostgreSQL (`apt-get install postgresql`)")
    # Short: the path of a socket ends at 107 bytes.
    folder = Path(tempfile.mkdtemp(prefix="pg", dir="/tmp"))
    if "user" in (server_user := _server_user()):
        shutil.chown(folder, server_user["user"])
    cluster = Cluster(folder, found[-1].parent)
    try:
        make = [str(found[-1]), "-D", f"{folder}/data", "-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-sync"]
        subprocess.run(make, check=True, **server_user, **_QUIET)
        cluster.act("start")
        try:
            yield cluster
        finally:
            cluster.act("stop", "-m", "immediate")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _server_user() -> dict[str, Any]:
    if os.geteuid() != 0:
        return {}
    entry = pwd.getpwnam("postgres")
    return {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": []}
