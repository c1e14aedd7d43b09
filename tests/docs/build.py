"""The site: ``python -m tests.docs.build`` (``make docs``) writes it to ``build/site``; no server is needed to read it.

MkDocs with Material and mkdocstrings. All is read and nothing is run: the notebooks have their outputs, the reference
is a static look at the sources. MkDocs' Material ends its life in May 2027; Zensical, by the same people, reads this
very configuration, and takes its place once it can be installed (0.1).
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

from tests.conftest import REPO
from tests.docs import crawl
from tests.docs.pages import (
    DOORS,
    GUIDE,
    NOTEBOOKS,
    doctor_table,
    door_page,
    errors_tree,
    figures,
    how_tos,
    notebook_page,
    pictures,
    relinked,
    title_of,
    tutorials,
)
from tests.docs.trial import gallery_page, trial_page
from tests.release.licences import DECLARE_NONE, licences

BUILD = REPO / "build"
SOURCES, CONFIG, SITE = BUILD / "docs", BUILD / "mkdocs.yml", BUILD / "site"

_SHIM = "https://unpkg.com/iframe-worker/shim"
"""What the offline plugin has a page fetch when it is read from disk, where a browser starts no worker from a file."""

_CSS = """
.cards { width: 100%; height: 640px; border: 1px solid var(--md-default-fg-color--lightest); border-radius: 4px; }
.bars { overflow-x: auto; }
.md-typeset .hitl-record blockquote { color: inherit; }
.md-typeset table:not([class]) td { vertical-align: top; min-width: 7rem; }
.md-typeset table:not([class]) td code { word-break: normal; overflow-wrap: normal; }
"""
_FOLLOW = """
// The frames with cards follow the page's own switch between light and dark.
function told() {
  const dark = document.body.dataset.mdColorScheme === "slate";
  for (const frame of document.querySelectorAll("iframe.cards")) frame.contentWindow?.postMessage({ dark }, "*");
}
new MutationObserver(told).observe(document.body, { attributes: true, attributeFilter: ["data-md-color-scheme"] });
addEventListener("message", (event) => event.data === "cards" && told());
"""


def write_sources() -> list[object]:
    """Write all pages; gives the navigation."""
    shutil.rmtree(SOURCES, ignore_errors=True)
    readme = (REPO / "README.md").read_text(encoding="utf-8")
    start = readme.replace(
        "# hitl_nb\n", "# hitl_nb\n\n[Try the cards, here and now](try.md), without installing anything.\n", 1
    )
    _put("index.md", relinked(start, ""))
    shutil.copytree(NOTEBOOKS / "images", SOURCES / "images")
    _put(
        "try.md",
        f"# Try the cards\n\nNothing is installed, nothing leaves this page.\n\n{_frame('cards', 'Cards to try')}",
    )
    _put("cards.html", trial_page())
    _put("gallery.md", f"# The gallery\n\nEvery card in every state.\n\n{_frame('states', 'All cards')}")
    _put("states.html", gallery_page())
    guide: list[object] = [{"Which question do I need?": "guide/choose.md"}]
    for path in sorted(GUIDE.glob("*.md")):
        text = path.read_text(encoding="utf-8")
        for mark, made in {"doctor": doctor_table, "errors": errors_tree, "figures": figures}.items():
            text = text.replace(f"<!-- {mark} -->", made()) if f"<!-- {mark} -->" in text else text
        _put(f"guide/{path.name}", text)
        if path.stem != "choose":
            guide.append({title_of(text): f"guide/{path.name}"})
    _put("guide/hosts.md", "# Where it runs\n\n" + relinked(_section(readme, "## Where it runs"), "guide"))
    guide.append({"Where it runs": "guide/hosts.md"})
    learn = [_notebook(path) for path in tutorials()]
    answers = [_notebook(path) for path in how_tos()]
    for door in DOORS:
        _put(f"reference/{door}.md", door_page(door))
    for name in ("CHANGELOG", "SECURITY", "CONTRIBUTING"):
        _put(f"{name.lower()}.md", relinked((REPO / f"{name}.md").read_text(encoding="utf-8"), ""))
    _put("licences.md", _licences())
    _put("assets/site.css", _CSS)
    _put("assets/follow.js", _FOLLOW)
    return [
        {"Start": "index.md"},
        {"Try it": "try.md"},
        {"Guide": guide},
        {
            "How to": [
                {"Drop outliers": "tutorials/07_outliers.md"},
                {"SQL before it runs": "tutorials/08_sql.md"},
                {"Promote a model": "tutorials/10_promote.md"},
                {"A plan and its code": "tutorials/11_plan.md"},
                *answers,
            ]
        },
        {"Tutorials": learn},
        {"Gallery": "gallery.md"},
        {"Reference": [{door: f"reference/{door}.md"} for door in DOORS]},
        {
            "Project": [
                {"What is new": "changelog.md"},
                {"Security": "security.md"},
                {"How it works": "contributing.md"},
                {"Licences": "licences.md"},
            ]
        },
    ]


def _frame(page: str, title: str) -> str:
    return f'<iframe class="cards" src="{page}.html" title="{title}" loading="lazy"></iframe>\n'


def _put(place: str, text: str) -> None:
    path = SOURCES / place
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def _notebook(path: Path) -> dict[str, str]:
    text = notebook_page(path)
    _put(f"tutorials/{path.stem}.md", text)
    for name, data in pictures[path.stem].items():
        file = SOURCES / "tutorials" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data)
    return {title_of(text): f"tutorials/{path.stem}.md"}


def _section(text: str, heading: str) -> str:
    return text.split(f"{heading}\n", 1)[1].split("\n## ", 1)[0].strip() + "\n"


def _licences() -> str:
    lines = ["# Licences", "", "hitl_nb is MIT. What `pip install hitl-nb` brings, with what each says of itself:", ""]
    core = licences("")
    lines += [f"- {name}: {said}" for name, said in core.items()]
    more = {name: said for name, said in licences("demo").items() if name not in core}
    lines += ["", "What the extras bring besides:", ""]
    lines += [f"- {name}: {said or f'{DECLARE_NONE[name]} (read, not declared)'}" for name, said in more.items()]
    return "\n".join(lines) + "\n"


def configuration(nav: list[object]) -> dict[str, object]:
    """What MkDocs is told; JSON is YAML."""
    scheme = ("default", "slate")
    modes = ("(prefers-color-scheme: light)", "(prefers-color-scheme: dark)")
    palette = [
        {
            "media": modes[dark],
            "scheme": scheme[dark],
            "primary": "indigo",
            "toggle": {
                "icon": "material/weather-night" if not dark else "material/weather-sunny",
                "name": ("dark", "light")[dark],
            },
        }
        for dark in (0, 1)
    ]
    reference = {
        "docstring_style": "google",
        "inherited_members": True,
        "members_order": "source",
        "separate_signature": True,
        "show_signature_annotations": True,
        "show_root_heading": True,
        "show_root_full_path": False,
        "show_source": False,
        "show_symbol_type_heading": True,
        "heading_level": 2,
        "extensions": ["griffe.UnpackTypedDictExtension", f"{REPO / 'tests/docs/docstrings.py'}:Fences"],
    }
    return {
        "site_name": "hitl_nb",
        "docs_dir": str(SOURCES),
        "site_dir": str(SITE),
        "use_directory_urls": False,  # so that it can be read from disk
        "theme": {
            "name": "material",
            "font": False,
            "palette": palette,
            "features": [
                "content.code.copy",
                "navigation.indexes",
                "navigation.sections",
                "navigation.tabs",
                "toc.follow",
            ],
        },
        "plugins": [
            {"search": {}},
            {"mkdocstrings": {"handlers": {"python": {"paths": [str(REPO)], "options": reference}}}},
            {"offline": {}},
        ],
        "markdown_extensions": [
            "admonition",
            "attr_list",
            "tables",
            "toc",
            "pymdownx.highlight",
            "pymdownx.superfences",
        ],
        "extra_css": ["assets/site.css"],
        "extra_javascript": ["assets/follow.js"],
        "validation": {"links": {"anchors": "warn", "unrecognized_links": "warn"}},
        "nav": nav,
    }


def _search_from_disk() -> None:
    """Start the worker of the search from its text, in place of a script from elsewhere."""
    [worker] = (SITE / "assets" / "javascripts" / "workers").glob("search.*.js")
    text = json.dumps(worker.read_text(encoding="utf-8"))
    (SITE / "assets" / "worker.js").write_text(
        'if (location.protocol === "file:") {\n'
        f"  const url = URL.createObjectURL(new Blob([{text}]));\n"
        "  window.Worker = class extends Worker { constructor() { super(url); } };\n}\n",
        encoding="utf-8",
    )
    for page in SITE.rglob("*.html"):
        up = "../" * (len(page.relative_to(SITE).parts) - 1)
        page.write_text(page.read_text(encoding="utf-8").replace(_SHIM, f"{up}assets/worker.js"), encoding="utf-8")


def build() -> None:
    """Build the site, and fail for whatever MkDocs warns of, a dead link, or anything from outside."""
    CONFIG.parent.mkdir(exist_ok=True)
    CONFIG.write_text(json.dumps(configuration(write_sources()), indent=1), encoding="utf-8")
    shutil.rmtree(SITE, ignore_errors=True)
    env = {**os.environ, "DISABLE_MKDOCS_2_WARNING": "true", "NO_MKDOCS_2_WARNING": "true"}
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "-f", str(CONFIG)]
    subprocess.run(command, check=True, env=env)
    _search_from_disk()
    problems = [*crawl.dead_links(SITE), *crawl.from_outside(SITE)]
    if problems:
        raise SystemExit("\n".join(problems))


if __name__ == "__main__":
    build()
    print(f"{len(list(SITE.rglob('*.html')))} pages: {SITE / 'index.html'}")
