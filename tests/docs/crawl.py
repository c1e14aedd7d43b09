"""What a built site leads to, and what it would load from elsewhere."""

from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

_LOADS = {"script": "src", "img": "src", "iframe": "src", "link": "href", "source": "src", "video": "src"}


class _Page(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.ids: set[str] = set()
        self.links: set[str] = set()
        self.loads: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = {name: value for name, value in attrs if value}
        self.ids |= {value for name, value in found.items() if name in ("id", "name")}
        if tag == "a" and "href" in found:
            self.links.add(str(found["href"]))
        if tag in _LOADS and found.get("rel") != "canonical" and _LOADS[tag] in found:
            self.loads.add(str(found[_LOADS[tag]]))


def pages(site: Path) -> dict[Path, _Page]:
    """Every page of a site, read."""
    return {path: _Page(path.read_text(encoding="utf-8")) for path in sorted(site.rglob("*.html"))}


def dead_links(site: Path) -> list[str]:
    """Links within the site that lead nowhere, to a page or to a place in one."""
    read = pages(site)
    dead = []
    for path, page in read.items():
        for link in sorted(page.links | page.loads):
            parts = urlsplit(link)
            if parts.scheme or parts.netloc or path.name == "404.html":
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if target.is_dir():
                target /= "index.html"
            wrong = not target.exists()
            if not wrong and parts.fragment and target in read and not parts.fragment.startswith("__"):
                wrong = unquote(parts.fragment) not in read[target].ids
            if wrong:
                dead.append(f"{path.relative_to(site)}: {link} leads nowhere")
    return dead


def from_outside(site: Path) -> list[str]:
    """What a browser would fetch from another machine."""
    return [
        f"{path.relative_to(site)}: {each} is loaded from elsewhere"
        for path, page in pages(site).items()
        for each in sorted(page.loads)
        if urlsplit(each).netloc
    ]
