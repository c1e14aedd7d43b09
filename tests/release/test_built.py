"""What is built is whole, an index can show it, and it works where nothing else is installed, without Node."""

import email
import os
import re
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

REPO = Path(__file__).parents[2]
PYTHONS = ("3.11", "3.12", "3.13")
pytestmark = pytest.mark.timeout(240)

# Not this checkout (PYTHONPATH), not this environment, and nobody who answers but whom a test names.
CLEAN = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL_ENV", "HITL_NB"))}


def run(*command: object, cwd: Path, **env: str) -> str:
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, cwd=cwd, env=CLEAN | env)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@dataclass
class Built:
    wheel: Path
    sdist: Path


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    out = tmp_path_factory.mktemp("dist")
    run(sys.executable, "-m", "uv", "build", "-q", "--out-dir", out, REPO, cwd=REPO)
    return Built(next(out.glob("*.whl")), next(out.glob("*.tar.gz")))


def test_the_wheel_carries_every_module_and_stylesheet_of_the_checkout_and_nothing_else(built):
    names = set(zipfile.ZipFile(built.wheel).namelist())
    front_end = [path for kind in ("*.js", "*.css") for path in (REPO / "widgets").glob(kind)]
    assert front_end
    python = {str(path.relative_to(REPO)) for path in (REPO / "hitl_nb").rglob("*.py")}
    expected = python | {"hitl_nb/py.typed"} | {f"hitl_nb/widgets/{path.name}" for path in front_end}
    assert {name for name in names if ".dist-info/" not in name} == expected


def test_the_source_distribution_is_what_a_packager_needs(built):
    with tarfile.open(built.sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {"pyproject.toml", "README.md", "LICENSE", "CHANGELOG.md", "CITATION.cff", "widgets/run.js"} <= names
    assert {"hitl_nb/py.typed", "notebooks/01_quickstart.ipynb", "tests/conftest.py"} <= names
    assert not [
        name for name in names if re.search(r"^\.ci|\.pyc$|(^|/)(\.venv|build|node_modules|\.\w+_cache)(/|$)", name)
    ]


def test_an_index_takes_both(built):
    said = run(sys.executable, "-m", "twine", "check", "--strict", built.wheel, built.sdist, cwd=REPO)
    assert said.count("PASSED") == 2


def test_the_readme_of_an_index_page_leads_nowhere_that_is_not_there(built):
    with zipfile.ZipFile(built.wheel) as archive:
        [name] = [name for name in archive.namelist() if name.endswith("/METADATA")]
        metadata = email.message_from_bytes(archive.read(name))
    text = str(metadata.get_payload())
    assert text.count("```python") == (REPO / "README.md").read_text(encoding="utf-8").count("```python")
    assert re.findall(r"\]\((?!https?:)[^)]*\)", text) == []
    assert "repository: begin" not in text
    assert "| | |\n|---|---|\n\n" not in text


@dataclass
class Environment:
    python: Path
    folder: Path

    def run(self, *arguments: object, **env: str) -> str:
        return run(self.python, *arguments, cwd=self.folder, **env)


PYENV = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
SHIMS = {"PYENV_VERSION": ":".join(path.name for path in PYENV.glob("versions/*"))}
"""pyenv's `python3.13` is found on the path and runs nothing unless its version is switched on."""


def interpreters() -> Sequence[str]:
    """Those of `PYTHONS` that uv finds on this machine; the one that runs this is always there."""
    here = f"{sys.version_info.major}.{sys.version_info.minor}"
    find = [sys.executable, "-m", "uv", "python", "find", "-q", "--no-python-downloads"]
    return [
        each
        for each in PYTHONS
        if each == here or not subprocess.run([*find, each], env=CLEAN | SHIMS, capture_output=True).returncode
    ]


@pytest.fixture(scope="module", params=interpreters())
def bare(request: pytest.FixtureRequest, built: Built, tmp_path_factory: pytest.TempPathFactory) -> Environment:
    """An environment with the wheel and what it needs, no extra."""
    folder = tmp_path_factory.mktemp(f"python{request.param}")
    run(sys.executable, "-m", "uv", "venv", "-q", "--python", request.param, folder / "venv", cwd=folder, **SHIMS)
    python = folder / "venv" / "bin" / "python"
    run(sys.executable, "-m", "uv", "pip", "install", "-q", "--python", python, built.wheel, cwd=folder)
    return Environment(python, folder)


def test_without_any_extra_the_first_block_of_the_readme_is_answered_in_a_cell(bare):
    [block, *_] = re.findall(r"^```python\n(.*?)^```", (REPO / "README.md").read_text(), flags=re.DOTALL | re.MULTILINE)
    assert len([line for line in block.splitlines() if line.strip()]) == 3
    (bare.folder / "answers.py").write_text("answers = [True]")
    cell = "from IPython.core.interactiveshell import InteractiveShell; import sys, sysconfig\n"
    cell += f"print(InteractiveShell.instance().run_cell({block!r}).success, sysconfig.get_python_version())"
    said = bare.run(
        "-W", "error", "-c", cell, HITL_NB_PEOPLE="script:answers.py", IPYTHONDIR=str(bare.folder / "ipython")
    )
    sent, ended = said.splitlines()
    assert sent == "sent"
    assert ended.startswith("True 3.")


def test_every_card_is_linked_from_what_the_wheel_carries(bare):
    code = "import hitl_nb.testing; from hitl_nb._frontend import ROOT, linked; print(ROOT, len(linked('run')))"
    where, size = bare.run("-c", code).split()
    assert where.endswith("site-packages/hitl_nb/widgets")
    assert int(size) > 1000


def test_the_doctor_and_the_version_are_there(bare):
    assert "tested with" not in bare.run("-m", "hitl_nb.cli", "doctor")
    version = bare.run("-c", "import hitl_nb; print(hitl_nb.__version__)").strip()
    assert f'version = "{version}"' in (REPO / "pyproject.toml").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("code", "line"),
    [
        ("import hitl_nb.demo", 'pip install "hitl-nb[crewai]"'),
        ("from hitl_nb.agents import ChatAgent; ChatAgent('gpt-4o')", 'pip install "hitl-nb[litellm]"'),
        ("from hitl_nb import Session; Session('http://localhost/agent')", 'pip install "hitl-nb[http]"'),
        ("from hitl_nb import Journal; Journal('postgresql://db/hitl')", 'pip install "hitl-nb[postgres]"'),
        ("from hitl_nb import Session; Session('gpt-4o-mini')", "Session(ChatAgent('gpt-4o-mini'))"),
    ],
)
def test_what_is_missing_ends_with_the_line_to_write(bare, code, line):
    said = bare.run(
        "-c", f"try:\n    exec({code!r})\nexcept Exception as error:\n    print(type(error).__name__, error)"
    )
    assert line in said
    assert said.startswith(("MissingExtraError", "AgentDefinitionError"))
