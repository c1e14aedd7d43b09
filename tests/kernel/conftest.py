"""Kernels for the tests of this folder: one process a version, shared, and checked after each test."""

from collections.abc import Iterator

import pytest

from . import environments
from .client import Kernel


class _Kernels:
    """The kernels that run, by version."""

    def __init__(self) -> None:
        self._running: dict[str, Kernel] = {}

    def get(self, version: str) -> Kernel:
        if version not in self._running:
            environments.ensure(version)
            self._running[version] = Kernel.start(version)
        return self._running[version]

    def stop(self, version: str) -> None:
        self._running.pop(version).stop()

    def stop_all(self) -> None:
        for version in tuple(self._running):
            self.stop(version)


@pytest.fixture(scope="session")
def _kernels() -> Iterator[_Kernels]:
    kernels = _Kernels()
    yield kernels
    kernels.stop_all()


@pytest.fixture(scope="session", params=environments.VERSIONS)
def version(request: pytest.FixtureRequest) -> str:
    """Each ipykernel version in turn."""
    return str(request.param)


@pytest.fixture
def kernel(version: str, _kernels: _Kernels) -> Iterator[Kernel]:
    """A running kernel of this version; other tests have used it. It must be as it was afterwards."""
    kernel = _kernels.get(version)
    yield kernel
    try:
        assert kernel.run("print(leftovers())") == "[]"
    except BaseException:
        _kernels.stop(version)  # the next test gets a new one
        raise
