"""Files that are joined do what the browser's own ES modules do, names and all."""

import pytest

from hitl_nb._frontend import linked
from tests.browser.chromium import ADDRESS

Files = dict[str, str]

DIAMOND: Files = {
    "a": 'import { b } from "./b.js";\nimport { c, count } from "./c.js";\n'
    "const name = `a`;\ncount();\nexport default [name, b, c, count()];\n",
    "b": 'import { c, count } from "./c.js";\nconst name = "b"; // b\'s own\ncount();\nexport const b = [name, c];\n',
    "c": 'const name = "c";\nlet calls = 0;\nexport const c = `${name} /* no comment */`;\n'
    "export function count() {\n  return ++calls; /* once\n a call */\n}\n",
}
CIRCLE: Files = {
    "a": 'import { even } from "./b.js";\nexport function odd(n) {\n  return n !== 0 && even(n - 1);\n}\n'
    "export default [odd(7), even(7)];\n",
    "b": 'import { odd } from "./a.js";\nexport async function later() {\n  return odd(1);\n}\n'
    "export function even(n) {\n  return n === 0 || odd(n - 1);\n}\n",
}
SHADOWS: Files = {
    "a": 'import { h } from "./b.js";\nconst draw = (h) => h / 2 / 1; // not ours\n'
    "export default [draw(4), h`x`, /[/*]`/.test('/`')];\n",
    "b": "export const h = ([text]) => `<${text}>`; // `\nexport { g };\nfunction g() {}\n",
}


@pytest.mark.parametrize("files", [DIAMOND, CIRCLE, SHADOWS], ids=["diamond", "circle", "shadows"])
async def test_what_is_joined_does_what_the_browser_does_with_the_files(browser, tmp_path, files):
    for name, text in files.items():
        (tmp_path / f"{name}.js").write_text(text, encoding="utf-8")
    page = await browser.new_page()

    async def answer(route):
        name = route.request.url.removeprefix(ADDRESS).lstrip("/")
        text = linked("a", tmp_path) if name == "joined.js" else files.get(name.removesuffix(".js"), "")
        await route.fulfill(body=text, content_type="text/javascript" if name.endswith(".js") else "text/html")

    await page.route("**/*", answer)
    await page.goto(ADDRESS)
    load = "async (file) => (await import(file)).default"
    theirs, ours = [await page.evaluate(load, file) for file in ("/a.js", "/joined.js")]
    await page.close()
    assert ours == theirs
