"""The linker: what it joins works (in a browser: tests/browser), what it cannot join it refuses by line."""

import re
from pathlib import Path

import pytest

import hitl_nb.data  # noqa: F401 - its cards are known once it is imported
from hitl_nb._frontend import ROOT, linked, stylesheet, without_comments
from hitl_nb.cards._registry import script
from hitl_nb.errors import FrontendError

ENTRIES = [
    path.stem
    for path in sorted(ROOT.glob("*.js"))
    if re.search(r"^export default", path.read_text(encoding="utf-8"), re.MULTILINE)
]
ENTRY = 'import { h } from "./kit.js";\nexport default { render: h };\n'


@pytest.fixture
def write(tmp_path):
    def write(**texts: str) -> Path:
        for name, text in texts.items():
            (tmp_path / f"{name}.js").write_text(text, encoding="utf-8")
        return tmp_path

    return write


def test_the_run_is_an_entry():
    assert "run" in ENTRIES


@pytest.mark.parametrize("name", ENTRIES)
def test_every_entry_stands_alone(name):
    text = linked(name)
    code = re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)
    assert not re.search(r"^import|from [\"']", code, re.MULTILINE)
    # A run imports the cards of other packages, whose texts it carries.
    assert re.findall(r"\bimport\(.*?\)", code) == (["import(url)"] if name == "run" else [])
    assert len(re.findall(r"^export ", text, re.MULTILINE)) == 1
    assert re.search(r"^export default", text, re.MULTILINE)


@pytest.mark.parametrize("name", ENTRIES)
def test_every_entry_is_small(name):
    assert len(linked(name).encode()) < 100_000


def test_a_run_with_all_our_cards_is_small():
    assert len(script().encode()) < 240_000


def test_every_card_of_ours_is_in_a_run():
    names = {name for name in ENTRIES if name != "run"}
    assert names == set(re.findall(r'^  \["(\w+)", card_\1\],$', script(), re.MULTILINE))


def test_the_form_is_small():
    # No form library that is exact is smaller; this one has no dependency either. Comments do not reach the browser.
    assert sum(len(without_comments(path.read_text()).encode()) for path in ROOT.glob("form*.js")) < 35_000


@pytest.mark.parametrize("path", sorted(ROOT.glob("*.js")), ids=lambda path: path.name)
def test_no_widget_knows_a_way_to_markup_or_to_evaluate(path):
    text = path.read_text(encoding="utf-8")
    assert not re.search(r"innerHTML|outerHTML|insertAdjacent|document\.write|\beval\(|new Function", text)


@pytest.mark.parametrize("name", [path.stem for path in sorted(ROOT.glob("*.css"))])
def test_the_stylesheets_have_only_names_of_our_own(name):
    names = set(
        re.findall(r"\.(-?[a-z][\w-]*)", re.sub(r"/\*.*?\*/|\d\.\d+|\.\d+", "", stylesheet(name), flags=re.DOTALL))
    )
    assert names
    assert all(name.startswith("hitl-") for name in names)


def test_no_two_stylesheets_style_the_same_name():
    """A run has all of them: one card's `.hitl-state` would dress the other's."""
    home: dict[str, str] = {}
    for path in sorted(ROOT.glob("*.css")):
        for name in re.findall(r"^(\.[\w-]+)(?:,| \{)$", path.read_text(encoding="utf-8"), re.MULTILINE):
            assert home.setdefault(name, path.name) == path.name, f"{name} is in {home[name]} and in {path.name}"


def test_what_is_imported_comes_first_and_once(write):
    root = write(
        a='import { b } from "./b.js";\nimport { c } from "./c.js";\nexport default { b, c };\n',
        b='import { c } from "./c.js";\nexport const b = c + 1;\n',
        c="export const c = 1;\n",
    )
    assert linked("a", root).split("\n\n") == [
        "const $0_c = (() => {\nconst c = 1;\nreturn { c };\n})();",
        "const $1_b = (() => {\nconst { c } = $0_c;\nconst b = c + 1;\nreturn { b };\n})();",
        "const { b } = $1_b;\nconst { c } = $0_c;\nexport default { b, c };\n",
    ]


def test_files_that_import_each_other_are_joined_once(write):
    root = write(
        a='import { b } from "./b.js";\nexport function a() {\n  b();\n}\nexport default { render: a };\n',
        b='import { a } from "./a.js";\nexport function b() {\n  a();\n}\n',
    )
    assert linked("a", root).count("function") == 2


def test_an_import_may_span_lines(write):
    root = write(
        a='import {\n  h,\n  g,\n} from "./kit.js";\nexport default { h, g };\n',
        kit="export const h = 1;\nconst g = 2;\nexport { g };\n",
    )
    assert "import" not in linked("a", root)


def test_a_file_without_a_last_line_end_does_not_swallow_the_next(write):
    root = write(a=ENTRY, kit="export const h = 1; // the end")
    assert "const h = 1;\nreturn" in linked("a", root)


def test_imports_in_types_are_comments(write):
    text = '/** @type {import("./kit.js").K} */\nexport const h = /** @type {import("./kit.js").K} */ (1);\n'
    assert "const h = (1);" in linked("a", write(a=ENTRY, kit=text))


@pytest.mark.parametrize(
    ("text", "rest"),
    [
        ("a = 1; // one\nb", "a = 1;\nb"),
        ("/**\n * Of two lines.\n */\nfunction f() {}\n", "function f() {}\n"),
        ("  // alone\n  b", "  b"),
        ("f(/** @type {any} */ (x), /* y */ z)", "f((x), z)"),
        ("a/* */b", "a b"),
        ("return x /* ends\n it */ y", "return x \ny"),
        ("/*! (c) Ada */\na", "/*! (c) Ada */\na"),
        ("\"// no\" + '/* no */' // yes", "\"// no\" + '/* no */'"),
        (r'"\" // no"; // yes', r'"\" // no";'),
        ("`// ${a /* yes */ + `/* ${{ b: `}` }} */`} // no` // yes", "`// ${a + `/* ${{ b: `}` }} */`} // no`"),
        (r"x = /[/*]\/\/ \"/; // yes", r"x = /[/*]\/\/ \"/;"),
        ("return /`/; // yes", "return /`/;"),
        ("a / b / c; // yes `", "a / b / c;"),
        ("f(x) / 2; g() // yes", "f(x) / 2; g()"),
        ("`does not end // ${", "`does not end // ${"),
    ],
)
def test_comments_stay_at_home_and_nothing_else_does(text, rest):
    assert without_comments(text) == rest
    assert without_comments(rest) == rest


def test_what_we_send_has_no_comments_and_all_of_the_code():
    for path in ROOT.glob("*.js"):
        text = path.read_text(encoding="utf-8")
        code = re.sub(r"(^| )//.*", "", re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL), flags=re.MULTILINE)
        sent = without_comments(text)
        assert not re.search(r"^\s*(//|/\*)|/\*\*", sent, re.MULTILINE)
        assert "".join(sent.split()) == "".join(code.split())


@pytest.mark.parametrize(
    "line",
    [
        "import { h } from './kit.js';",
        'import { h } from "./kit.js"',
        'import { h } from "./kit";',
        'import { h } from "kit";',
        'import * as kit from "./kit.js";',
        'import kit from "./kit.js";',
        'import kit, { h } from "./kit.js";',
        'import "./kit.js";',
        'import { h as hh } from "./kit.js";',
        'import { nothing } from "./kit.js";',
        'import { h } from "./missing.js";',
        'export { h } from "./kit.js";',
        'export * from "./kit.js";',
        'const later = import("./kit.js");',
        "export { render as draw };",
        "export const { x, y } = {};",
        "export let x = 1;",
    ],
)
def test_a_form_that_is_not_understood_is_refused_with_file_and_line(write, line):
    root = write(a=f"// one\n/* two\n three */\n{line}\nexport default {{}};\n", kit="export const h = 1;\n")
    with pytest.raises(FrontendError, match=r"`a\.js`, line 4\b.*" + re.escape(f"`{line}`")):
        linked("a", root)


def test_a_refusal_names_the_imported_file(write):
    root = write(a=ENTRY, kit='export const h = 1;\n\nimport "./other.js";\n')
    with pytest.raises(FrontendError, match=r"`kit\.js`, line 3"):
        linked("a", root)


def test_only_the_entry_has_a_default_export(write):
    root = write(a=ENTRY, kit="export const h = 1;\nexport default h;\n")
    with pytest.raises(FrontendError, match=r"`kit\.js`, line 2.*only the entry"):
        linked("a", root)


def test_a_file_without_a_default_export_is_no_widget(write):
    with pytest.raises(FrontendError, match=r"`kit\.js` is no widget"):
        linked("kit", write(kit="export const h = 1;\n"))


def test_a_name_is_known_in_its_own_file_and_where_it_is_imported(write):
    root = write(
        a='import { h } from "./kit.js";\nconst size = 1;\nexport default { size, h };\n',
        kit="const size = 2;\nexport const h = size;\n",
    )
    assert "size" in linked("a", root).split("})();")[0]
    assert "return { h };" in linked("a", root)


def test_files_that_import_each_other_give_each_other_functions_only(write):
    root = write(
        a='import { b } from "./b.js";\nexport const a = 1;\nexport default { b };\n',
        b='import { a } from "./a.js";\nexport const b = () => a;\n',
    )
    with pytest.raises(FrontendError, match=r"`b\.js`, line 1.*`a\.js` imports it, too.*`export function`"):
        linked("a", root)


def test_a_missing_file_is_named():
    with pytest.raises(FrontendError, match=r"no `nowhere\.js`"):
        linked("nowhere")
    with pytest.raises(FrontendError, match=r"no `nowhere\.css`"):
        stylesheet("nowhere")
