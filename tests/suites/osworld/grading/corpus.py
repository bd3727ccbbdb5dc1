"""Files and values that metrics are held against: each with what upstream's metric is handed too.

A case is named by its metric and its variant; what upstream 1.0.2 said of it is in verdicts.json.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any

import corpus_files as files
import corpus_office as office
import corpus_slides as slides


@dataclass(frozen=True)
class Case:
    """What a metric is handed. `expected` None: it takes the result alone."""

    name: str
    metric: str
    result: Any
    expected: Any = None
    options: dict[str, Any] = field(default_factory=dict)


def cases(folder: Path, every: int = 1) -> Iterator[Case]:
    """All cases; their files are written below a folder.

    `every`: of documents, workbooks and presentations, and of their options, every so many-th.
    """
    seen = set()
    for case in _all(folder, every):
        assert case.name not in seen, case.name
        seen.add(case.name)
        yield case


def _all(folder: Path, every: int) -> Iterator[Case]:
    yield from _values()
    yield from _texts(folder)
    yield from _data(folder)
    yield from _settings(folder)
    yield from _pictures(folder)
    yield from _archives(folder)
    yield from _cities(folder)
    yield from _documents(folder, every)
    books = office.books(folder, every)
    yield from _pairs("compare_table", books, _some(office.TABLE_OPTIONS, every))
    shown = slides.presentations(folder, every)
    yield from _pairs("compare_pptx_files", shown, _some(slides.OPTIONS, every))
    for name, path in shown.items():
        metric = "check_slide_orientation_Portrait"
        yield Case(f"{metric}/{name}", metric, path)


def _cities(folder: Path) -> Iterator[Case]:
    found = office.cities(folder)
    wanted = [f"City {number}" for number in range(21)]
    either = [["none", name] for name in wanted]
    for (name, path), expected in product(found.items(), (wanted, either, wanted[:5], [1])):
        metric = "compare_conference_city_in_order"
        label = f"{len(expected)}{type(expected[0]).__name__}"
        yield Case(f"{metric}/{name}/{label}", metric, path, {"expected": expected})


def _some(options, every):
    return dict(list(options.items())[::every])


def _documents(folder: Path, every: int) -> Iterator[Case]:
    options = _some(office.DOCUMENT_OPTIONS, every)
    documents = office.documents(folder, every)
    yield from _pairs("compare_docx_files", documents, options)
    yield from _pairs("compare_docx_files", office.odts(folder), options)
    for metric in office.DOCUMENT_METRICS:
        yield from _pairs(metric, documents, {"": {}})
        for name, path in documents.items():
            yield Case(f"{metric}/{name}~itself", metric, path, path)
    for metric, rules in office.DOCUMENT_ALONE.items():
        for (name, path), (label, kept) in product(documents.items(), rules.items()):
            yield Case(f"{metric}/{name}/{label}", metric, path, kept)


def _pairs(metric, found, options) -> Iterator[Case]:
    """Each file against the first with each set of options; the first against each with one."""
    names = list(found)
    asked = [(name, names[0], label) for name, label in product(names, options)]
    asked += [(names[0], name, next(iter(options))) for name in names[1:]]
    for one, other, label in asked:
        yield Case(
            f"{metric}/{one}~{other}/{label}", metric, found[one], found[other], options[label]
        )


def _each(metric, results, rules, **options) -> Iterator[Case]:
    """Each result with each of the rules."""
    for (number, result), (place, rule) in product(enumerate(results), enumerate(rules)):
        yield Case(f"{metric}/{number}/{place}", metric, result, rule, options)


def _values() -> Iterator[Case]:
    texts = ["alpha beta\n", "alpha", "", "BETA alpha", None]
    yield from _each(
        "check_include_exclude",
        texts,
        [{"include": ["alpha"]}, {"include": ["alpha"], "exclude": ["beta"]}, {"exclude": ["x"]}],
    )
    expected = [{"expected": value} for value in ("alpha", "", ["alpha", "beta"])]
    for metric in ("exact_match", "match_in_list"):
        yield from _each(metric, [*texts[:4], ["alpha", "beta"]], expected)
    yield from _each("is_in_list", [["alpha"], "alphabet", [], None], expected[:2])
    yield from _each("fuzzy_match", texts[:4], [{"expected": "alpha beta"}])
    yield from _literals()
    yield from _objects()
    yield from _lists()
    yield from _trees()


def _literals() -> Iterator[Case]:
    literals = [1, "1", "A", ["A", 1], ("a", "1"), None]
    for kind, fold in product(("str", "list", "set"), (True, False)):
        for number, (one, other) in enumerate(product(literals, literals)):
            name = f"literal_match/{kind}/{fold}/{number}"
            yield Case(name, "literal_match", one, other or "", {"type": kind, "ignore_case": fold})


def _objects() -> Iterator[Case]:
    objects = [
        {"a": "x", "b": [1, 2]},
        "{'a': 'x', 'b': [1, 2]}",
        ' {"a": "xyz"} ',
        {"a": ["x", "y"]},
        {"b": [2, 1]},
        None,
        "no json",
    ]
    wanted = [
        {"expected": {"a": "x"}},
        {"expected": {"a": "x", "b": [1, 2]}},
        {"expected": {"b": [2, 1], "ignore_list_order": True}},
        {"expected": {"a": ["x", "z"]}, "expect_in_result": True},
        {"expected": {"a": "x"}, "expect_in_result": True},
        {"expected": {"a": 1}, "expect_in_result": True},
        {"expected": {"a": "__EVALUATION_FAILED__"}},
        {"expected": {}},
        {},
    ]
    yield from _each("check_direct_json_object", objects, wanted)


def _lists() -> Iterator[Case]:
    names = [["a.jpg", "b.jpg"], ["b.jpg", "a.jpg"], ["a.jpg"], ["a.jpg", "a.jpg"], []]
    trees = [{"children": [{"name": name} for name in among]} for among in names]
    yield from _each("check_moved_jpgs", [*trees, {}], [{"expected": among} for among in names])
    yield from _each(
        "check_gnome_favorite_apps", [*map(str, names), "no list"], [{"expected": n} for n in names]
    )
    zone = "\n".join([*"abc", "Time zone: Etc/UTC (UTC, +0000)", "d"])
    for number, text in enumerate([zone, zone.replace("+0000", "+0100"), "", "a\nb"]):
        yield Case(f"is_utc_0/{number}", "is_utc_0", text)
    for number, text in enumerate(["1.25", "1.0", "0.5\n", "none"]):
        yield Case(f"check_text_enlarged/{number}", "check_text_enlarged", text)
    for number, (want, said) in enumerate(product(["a", ["a", "b"], []], ["ab", "b", ""])):
        name = f"is_in_vm_clickboard/{number}"
        yield Case(name, "is_in_vm_clickboard", {"expected": want}, said)
    yield from _each(
        "is_extension_installed",
        ["a.b\nc.d", ""],
        [{"type": t, "expected": "a.b"} for t in ("contain", "not_contain", "other")],
    )


def _trees() -> Iterator[Case]:
    base = "https://accessibility.ubuntu.example.org/ns/"
    tree = (
        f'<desktop-frame xmlns:st="{base}state"><application name="Terminal">'
        '<label name="one" st:focused="true">hello world</label><label name="two"/>'
        "</application></desktop-frame>"
    )
    rules = [
        [{"xpath": "//label[@name='one']"}],
        [{"xpath": "//label[@st:focused='true']", "text": "hello world", "exact": True}],
        [{"xpath": "//label", "text": "hello", "exact": True}],
        [{"xpath": "//label", "text": "hello", "exact": False}],
        [{"xpath": "//label[2]", "text": "hello", "exact": False}],
        [{"selectors": ["application[name=Terminal] label", "none"]}],
        [{"selectors": ["st|label"]}],
        [{"xpath": "//label"}, {"xpath": "//nothing"}],
        [{"xpath": "//label", "text": "x"}],
        [],
    ]
    yield from _each("check_accessibility_tree", [tree, "<desktop-frame/>", "no xml"], rules)


def _texts(folder: Path) -> Iterator[Case]:
    bodies = {
        "plain": "one\ntwo\n10:20:30 x\n",
        "blanks": "one\t two \n\n10:20:30 x",
        "upper": "ONE\nTWO\n10:20:30 X\n",
        "more": "one\ntwo\nthree\n25:00:00\n09:59:60\n",
        "empty": "",
        "head": "#!/usr/bin/python\n# coding: utf-8\none\n\ttwo\n\n10:20:30 x\n",
        "umlaut": "äöü\n",
    }
    found = files.written(folder / "text", bodies, ".txt")
    found["latin"] = str(folder / "text" / "latin.txt")
    Path(found["latin"]).write_bytes("äöü\n".encode("latin-1"))
    found["none"] = str(folder / "text" / "none.txt")
    flags = [{"ignore_blanks": a, "ignore_case": b} for a, b in product((True, False), repeat=2)]
    marked = {f"{number}": flag for number, flag in enumerate(flags)}
    yield from _pairs("compare_text_file", found, marked)
    strict = [{"strict": a, "ignore_case": b} for a, b in product((True, False), repeat=2)]
    yield from _pairs("compare_csv", found, {f"{n}": flag for n, flag in enumerate(strict)})
    yield from _pairs("diff_text_file", found, {"": {}})
    yield from _pairs("compare_python_pure_text", found, {"": {}})
    several = [found["more"], found["plain"]]
    for name, path in found.items():
        yield Case(f"compare_csv/{name}~several", "compare_csv", path, several)
        yield Case(f"compare_terminal_and_txt/{name}", "compare_terminal_and_txt", path, "äöü\n")
    paths = [*found.values(), None]
    yield from _each("file_contains", paths, [{"expected": e} for e in (["one"], ["one", "ü"], [])])
    yield from _each("check_line_number", paths, [{"expected": n} for n in ("1", 2, 0)])
    yield from _each("compare_config", paths, [{"expected": b} for b in bodies.values()])
    yield from _each(
        "compare_answer", list(bodies.values()), [{"expected": ""}, {"expected": "äöü\n"}]
    )
    lists = [{"expect": ["^one", r"\d+"]}, {"unexpect": ["two"]}, {"expect": ["(?i)TWO$"]}, {}]
    yield from _each("check_list", paths, lists)


def _data(folder: Path) -> Iterator[Case]:
    rows = {
        "rows": "name,n\nann,1\nbob,2\n",
        "other": "name,n\nann,2\n",
        "short": "name,n\nann\n",
        "none": "",
    }
    found = files.written(folder / "rows", rows, ".csv")
    rules = [
        {"expect": [{"name": "ann", "n": "1"}]},
        {"expect": [{"name": "ann"}], "unexpect": [{"n": "2"}]},
        {"unexpect": [{"none": "1"}]},
        {"expect": [{"n": None}]},
    ]
    yield from _each("check_csv", [*found.values(), None], rules)
    objects = {
        "flat": '{"a": 1, "b": "text", "c": {"d": [1, 2.5]}}',
        "list": "[1, 2]",
        "broken": '{"a": 1',
        "null": "null",
        "comment": '// keys\n[{"key": "f", "command": "x"}]',
        "bindings": '[{"key": "f", "command": "x"}, {"key": "g"}]',
    }
    found = files.written(folder / "objects", objects, ".json")
    keys = [("a", "eq", 1), ("a", "ge", 2), ("b", "re.I", "^TEXT$"), ("a", "approx:0.5", 1.4)]
    keys += [("b", "approx:1", 1), ("b", "str_set_eq", ["text"]), ("a", "range.te", [0, 1])]
    keys += [("none", "eq", None), ("b", "lt", 1)]
    wanted = [{"expect": [{"key": [k], "method": m, "ref": r}]} for k, m, r in keys]
    wanted += [{"unexpect": [{"key": [k], "method": m, "ref": r}]} for k, m, r in keys]
    wanted += [{"expect": [{"key": ["c", "d", 1], "method": "eq", "ref": 2.5}]}, {}]
    paths = [*found.values(), str(folder / "objects" / "absent"), None]
    yield from _each("check_json", paths, wanted)
    for number, case in enumerate(_each("check_json", paths, wanted)):
        yield Case(f"check_json/yaml{number}", case.metric, *_of(case), {"is_yaml": True})
    settings = [{"expected": {"a": 1}}, {"expected": {"a": 1, "b": "no"}}, {"expected": {}}]
    yield from _each("check_json_settings", paths, settings)
    bound = [{"expected": {"key": "g"}}, {"expected": {"key": "f", "command": "x"}}]
    yield from _each("check_json_keybindings", paths, bound)
    yield from _pairs("is_included_all_json_objects", found, {"": {}})
    base = files.database(folder / "base.db")
    selects = ["select count(*) from t", "select n from t", "select n from t where n > 9"]
    selects += ["select null", "select x from none"]
    yield from _each("run_sqlite3", [base], [{"sql": select} for select in selects])


def _of(case: Case) -> tuple[Any, Any]:
    return case.result, case.expected


def _settings(folder: Path) -> Iterator[Case]:
    texts = {
        "gimp": '# GIMP\n\n(theme "Dark")\n(undo-size 64)\n(tool (size 3)\n',
        "other": '(theme "Light")\n',
        "empty": "",
    }
    found = [*files.written(folder / "gimp", texts, "rc").values(), None]
    rules = [{"key": "theme", "value": '"Dark"'}, {"key": "undo-size", "value": "64"}]
    rules += [{"key": ["tool", "(size"], "value": "3"}, {"key": ["theme", "x"], "value": "y"}]
    yield from _each("check_config_status", found, rules)
    prefs = {
        "prefs": '// x\nuser_pref("a.b", true);\nuser_pref("n", 3);\nuser_pref("s", "x,y");\n',
        "other": 'user_pref("a.b", false);\n',
        "broken": 'user_pref("a.b", no json);\n',
        "empty": "",
    }
    found = [*files.written(folder / "prefs", prefs, ".js").values(), None]
    wanted = {"a.b": {"method": "eq", "ref": True}}, {"n": {"method": "gt", "ref": 2}}
    rules = [{"expect": wanted[0]}, {"expect": wanted[0] | wanted[1]}, {"unexpect": wanted[0]}]
    rules += [{"expect": {"s": {"method": "str_set_eq", "ref": ["y", "x"]}}}, {}]
    yield from _each("check_thunderbird_prefs", found, rules)
    head = 'version="9"\nlogging="no"\n'
    one = 'name="Sort"\nenabled="yes"\ntype="17"\naction="Move to folder"\n'
    one += 'actionValue="mailbox://x/\\"a\\""\ncondition="AND (subject,contains,\\"new\\")"\n'
    filters = {"one": head + one, "two": head + one + one.replace("Sort", "Other"), "none": head}
    filters["all"] = head + 'name="All"\ncondition="ALL"\n'
    found = [*files.written(folder / "filters", filters, ".dat").values(), None]
    rules = [{"expect": [{"name": "Sort"}]}, {"expect": [{"action": "Move to folder"}]}]
    rules += [{"expect": [{"condition": ['AND (subject,contains,"new")']}]}]
    rules += [{"unexpect": [{"name": "Other"}]}, {"expect": [{"enabled": '"yes'}]}]
    rules += [{"expect": [{"condition": ["ALL"]}]}, {}]
    yield from _each("check_thunderbird_filter", found, rules)


def _pictures(folder: Path) -> Iterator[Case]:
    found = files.pictures(folder)
    base = {"": {}, "base": {"reference_base_result": 0.3}}
    yield from _pairs("compare_images", found, base)
    for metric in ("compare_image_list", "check_structure_sim", "check_image_mirror"):
        yield from _pairs(metric, found, {"": {}})
    yield from _pairs("check_file_exists_and_structure_sim", found, {"": {}})
    sizes = [{"width": 48}, {"height": 32, "width": 48}, {"height": 9}, {}]
    sizes += [{"width": 10, "height": 12, "ignore_transparent": True}]
    yield from _each("check_image_size", [*found.values(), None], sizes)
    yield from _each("check_image_file_size", [*found.values(), None], [{"max_size": 900}])
    two = [found["base"], found["noise"]]
    for name, other in {"same": two, "swapped": two[::-1], "short": two[:1]}.items():
        yield Case(f"compare_image_list/{name}", "compare_image_list", two, other)


def _archives(folder: Path) -> Iterator[Case]:
    for kind, options in (("text", {}), ("csv", {"ignore_case": True}), ("image", {})):
        for inside in ("", "in"):
            marked = {f"{kind}/{inside}": {"file_type": kind, "file_path": inside} | options}
            yield from _pairs("compare_archive", files.archives(folder, kind, inside), marked)
    yield from _pairs("compare_zip_files", files.archives(folder, "text", ""), {"": {}})
