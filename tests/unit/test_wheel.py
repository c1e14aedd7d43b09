"""The browser half rides in the wheel, and an installed wheel works outside the checkout, without Node."""

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

REPO = Path(__file__).parents[2]
pytestmark = pytest.mark.timeout(240)


def run(*command: object, cwd: Path) -> str:
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, cwd=cwd)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("dist")
    run(sys.executable, "-m", "uv", "build", "-q", "--wheel", "--out-dir", out, REPO, cwd=REPO)
    return next(out.glob("*.whl"))


def test_the_wheel_carries_every_module_and_stylesheet_of_the_checkout(wheel):
    names = set(zipfile.ZipFile(wheel).namelist())
    front_end = [path for kind in ("*.js", "*.css") for path in (REPO / "widgets").glob(kind)]
    assert front_end
    assert {f"hitl_nb/widgets/{path.name}" for path in front_end} <= names
    assert "hitl_nb/py.typed" in names
    assert not [name for name in names if name.startswith(("tests/", "notebooks/"))]


def test_a_fresh_environment_imports_the_wheel_and_links_every_card(wheel, tmp_path):
    python = tmp_path / "venv" / "bin" / "python"
    run(sys.executable, "-m", "uv", "venv", "-q", "--python", sys.executable, tmp_path / "venv", cwd=tmp_path)
    run(sys.executable, "-m", "uv", "pip", "install", "-q", "--python", python, wheel, cwd=tmp_path)
    code = (
        "import hitl_nb, hitl_nb.testing; from hitl_nb._frontend import ROOT, linked; print(ROOT, len(linked('run')))"
    )
    where, size = run(python, "-c", code, cwd=tmp_path).split()
    assert where.endswith("site-packages/hitl_nb/widgets")
    assert int(size) > 1000
