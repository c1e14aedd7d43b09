"""Under which licence each dependency is: ``python -m tests.release.licences [EXTRA]``, from what is installed here."""

import re
import sys
from importlib.metadata import Distribution, distribution

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

FINE = re.compile(
    r"MIT|BSD|Apache|ISC|PSF|Python Software Foundation|MPL|LGPL|Unlicense|0BSD|HPND|CNRI|Zlib|zlib|BlueOak"
)
"""LGPL is psycopg, which is why PostgreSQL is an extra; MPL is certifi, orjson and tqdm."""

DECLARE_NONE = {"crewai": "MIT", "crewai-cli": "MIT", "crewai-core": "MIT", "cel-python": "Apache-2.0"}
"""Nothing stands in their metadata; read in their repositories."""


def licences(extra: str = "") -> dict[str, str]:
    """Every package that an extra brings, with what its metadata says; "" where it says nothing."""
    found: dict[str, str] = {}
    _collect("hitl-nb", {extra}, found, set())
    del found["hitl-nb"]
    return dict(sorted(found.items()))


def _collect(name: str, extras: set[str], found: dict[str, str], seen: set[tuple[str, str]]) -> None:
    package = distribution(name)
    found[canonicalize_name(name)] = _licence(package)
    for extra in extras | {""}:
        if (name, extra) in seen:
            continue
        seen.add((name, extra))
        for each in package.requires or ():
            needed = Requirement(each)
            if needed.marker is None or needed.marker.evaluate({"extra": extra}):
                _collect(canonicalize_name(needed.name), set(needed.extras), found, seen)


def _licence(package: Distribution) -> str:
    said = package.metadata
    trove = [line.rpartition(":: ")[2] for line in said.get_all("Classifier", []) if line.startswith("License ::")]
    words = [text.split("\n")[0][:80] for text in said.get_all("License", [])]
    return " / ".join(said.get_all("License-Expression", []) or trove or words)


if __name__ == "__main__":
    for package, licence in licences(*sys.argv[1:2]).items():
        print(f"{package}: {licence or f'{DECLARE_NONE[package]} (read, not declared)'}")
