"""A checkout of three tasks of our own, in OSWorld's shape."""

import json

GOLD = "https://huggingface.co/datasets/own/gold.txt"
START = "https://huggingface.co/datasets/own/start.txt"


def task(name, **fields):
    return {
        "id": name,
        "snapshot": "os",
        "instruction": f"Do {name}.",
        "source": "ours",
        "trajectory": "",
        "related_apps": ["os"],
        "config": [],
        "evaluator": {"func": "infeasible"},
        "proxy": False,
    } | fields


RENAME = task(
    "rename",
    evaluator={
        "func": "check_include_exclude",
        "result": {"type": "vm_command_line", "command": "ls", "shell": True},
        "expected": {"type": "rule", "rules": {"include": ["new"], "exclude": ["old"]}},
    },
)
SORT = task(
    "sort",
    related_apps=["OS", "libreoffice calc", "pdf"],
    config=[
        {"type": "download", "parameters": {"files": [{"url": START, "path": "/home/user/a.txt"}]}}
    ],
    evaluator={
        "func": "compare_text_file",
        "result": {"type": "vm_file", "path": "/home/user/a.txt", "dest": "a.txt"},
        "expected": {"type": "cloud_file", "path": GOLD, "dest": "gold.txt"},
    },
)
SHOP = task(
    "shop",
    related_apps=["chrome"],
    proxy=True,
    config=[
        {"type": "login", "parameters": {"platform": "googledrive"}},
        {"type": "chrome_open_tabs", "parameters": {"urls_to_open": ["https://shop.invalid/a"]}},
    ],
    evaluator={
        "func": "exact_match",
        "result": {"type": "active_tab_info"},
        "expected": {"type": "rule", "rules": {"expected": 1}},
    },
)
LISTS = {"os": ["rename", "sort"], "chrome": ["shop"]}


def write(root, *, tasks=(("os", RENAME), ("os", SORT), ("chrome", SHOP)), lists=None):
    """Write the checkout and give its root."""
    examples = root / "evaluation_examples"
    for domain, made in tasks:
        folder = examples / "examples" / domain
        folder.mkdir(parents=True, exist_ok=True)
        text = made if isinstance(made, str) else json.dumps(made)
        name = "broken" if isinstance(made, str) else made["id"]
        (folder / f"{name}.json").write_text(text, "utf-8")
    (examples / "test_all.json").write_text(json.dumps(lists or LISTS), "utf-8")
    (examples / "test_small.json").write_text(json.dumps({"os": ["rename"]}), "utf-8")
    return root
