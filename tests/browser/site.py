"""The page where cards are drawn without Jupyter: for the tests, the gallery, and by hand while developing.

By hand: ``python -m tests.browser.site``, open the address it prints, change a file in ``widgets/``, reload.
"""

import json
import sys
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from pathlib import Path
from urllib.parse import urlsplit

from hitl_nb._frontend import linked, stylesheet
from hitl_nb.cards._registry import script, style

HERE = Path(__file__).parent
TYPES = {".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".json": "application/json"}


def resource(url: str) -> tuple[str, str] | None:
    """The MIME type and the text behind a URL of the page; None if there is nothing."""
    path = urlsplit(url).path.lstrip("/") or "page.html"
    kind = TYPES.get(Path(path).suffix)
    text = _text(path)
    return (f"{kind}; charset=utf-8", text) if kind and text is not None else None


def _text(path: str) -> str | None:
    if path == "run.js":
        return script()
    if path == "kit.css":
        return style()
    if path == "states.json":
        from tests.browser.states import (
            STATES,
        )  # it draws them, and one of them fails: not where a browser is all one wants

        return json.dumps(STATES)
    if path in ("light.css", "dark.css"):
        theme = files("jupyterlab") / "themes" / "@jupyterlab" / f"theme-{Path(path).stem}-extension"
        return (theme / "index.css").read_text(encoding="utf-8")
    file = HERE / Path(path).name
    return file.read_text(encoding="utf-8") if file.is_file() else None


class _Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        linked.cache_clear()
        stylesheet.cache_clear()
        found = resource(self.path)
        self.send_response(HTTPStatus.OK if found else HTTPStatus.NOT_FOUND)
        kind, text = found or ("text/plain", "not found")
        self.send_header("Content-Type", kind)
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, *_: object) -> None:
        """Silence: the browser's console has what matters."""


if __name__ == "__main__":
    server = ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1]) if len(sys.argv) > 1 else 0), _Handler)
    print(f"http://127.0.0.1:{server.server_port}/?index  (Ctrl-C ends it)")
    server.serve_forever()
