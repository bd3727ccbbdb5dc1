"""OSWorld's own client, as published, drives a guest: run by the Python of its environment.

    python upstream.py URL PROFILE SCRATCH     prints one JSON object: what each call gave

Unchanged are its controllers. What they import and do not need here (a browser's driver, a drive in
the cloud, the metrics with all their libraries) is replaced by empty modules.
"""

import json
import logging
import sys
import types
from pathlib import Path
from typing import Any


def _empty(name: str, *names: str) -> None:
    module = types.ModuleType(name)
    for one in names:
        setattr(module, one, None)
    sys.modules[name] = module


def _controllers(url: str, scratch: Path) -> tuple[Any, Any]:
    _empty("playwright")
    _empty("playwright.sync_api", "sync_playwright", "TimeoutError")
    _empty("pydrive")
    _empty("pydrive.auth", "GoogleAuth")
    _empty("pydrive.drive", "GoogleDrive", "GoogleDriveFile", "GoogleDriveFileList")
    _empty("desktop_env.evaluators")
    _empty("desktop_env.evaluators.metrics")
    _empty("desktop_env.evaluators.metrics.utils", "compare_urls")
    python = __import__("desktop_env.controllers.python", fromlist=["PythonController"])
    setup = __import__("desktop_env.controllers.setup", fromlist=["SetupController"])
    host, port = url.removeprefix("http://").split(":")
    controller = python.PythonController(host, int(port))
    return controller, setup.SetupController(host, int(port), cache_dir=str(scratch))


def _steps(profile: str, scratch: Path) -> list[dict[str, Any]]:
    """Setup steps, as a task has them."""
    (scratch / "table.csv").write_bytes(b"a,b\r\n1,\xc3\xa9\r\n")
    steps: list[dict[str, Any]] = [
        {
            "type": "upload_file",
            "parameters": {
                "files": [
                    {
                        "local_path": str(scratch / "table.csv"),
                        "path": "/home/user/Desktop/table.csv",
                    }
                ]
            },
        },
        {
            "type": "execute",
            "parameters": {
                "command": ["bash", "-c", "echo once >> /home/user/log; cat /home/user/log"],
                "stdout": "said.txt",
            },
        },
        {"type": "command", "parameters": {"command": "mkdir -p /home/user/made", "shell": True}},
        {"type": "launch", "parameters": {"command": ["touch", "/home/user/launched"]}},
        {"type": "sleep", "parameters": {"seconds": 0.5}},
        {
            "type": "execute",
            "parameters": {
                "command": "test -f /home/user/launched",
                "shell": True,
                "until": {"returncode": 0},
            },
        },
    ]
    if profile == "gui":
        steps += [
            {"type": "upload_file", "parameters": {"files": [_text_file(scratch)]}},
            {"type": "open", "parameters": {"path": "/home/user/Desktop/notes.txt"}},
            {"type": "activate_window", "parameters": {"window_name": "notes"}},
            {"type": "change_wallpaper", "parameters": {"path": "/home/user/Desktop/notes.txt"}},
        ]
    return steps


def main(url: str, profile: str, scratch: Path) -> dict[str, Any]:
    """What each call gave, by name."""
    controller, setup = _controllers(url, scratch)
    found: dict[str, Any] = {"setup": setup.setup(_steps(profile, scratch))}
    found["said"] = (scratch / "said.txt").read_text()
    found["verified"] = setup._execute_with_verification_setup(
        ["true"], {"command_success": "test -d /home/user/made"}, 2, 0.1
    )
    found["platform"] = controller.get_vm_platform()
    found["file"] = controller.get_file("/home/user/Desktop/table.csv").decode()
    found["tree"] = controller.get_vm_directory_tree("/home/user/Desktop")
    found["desktop"] = controller.get_vm_desktop_path()
    found["python"] = controller.run_python_script("print(6 * 7)")
    found["bash"] = controller.run_bash_script("echo out; echo err >&2; exit 3")
    found["terminal"] = controller.get_terminal_output()
    if profile == "gui":
        found |= _screen(controller)
    return found


def _text_file(scratch: Path) -> dict[str, str]:
    (scratch / "notes.txt").write_text("hello\n")
    return {"local_path": str(scratch / "notes.txt"), "path": "/home/user/Desktop/notes.txt"}


def _screen(controller: Any) -> dict[str, Any]:
    controller.execute_action({"action_type": "HOTKEY", "parameters": {"keys": ["ctrl", "end"]}})
    controller.execute_action({"action_type": "TYPING", "parameters": {"text": "typed here"}})
    controller.execute_action({"action_type": "HOTKEY", "parameters": {"keys": ["ctrl", "s"]}})
    controller.execute_action({"action_type": "MOVE_TO", "parameters": {"x": 100, "y": 120}})
    where = controller.execute_python_command("print(tuple(pyautogui.position()))")
    return {
        "screenshot": controller.get_screenshot()[:8].hex(),
        "accessibility": controller.get_accessibility_tree(),
        "screen": controller.get_vm_screen_size(),
        "window": controller.get_vm_window_size("mousepad"),
        "wallpaper": controller.get_vm_wallpaper().decode(),
        "pointer": where["output"].strip(),
        "notes": controller.get_file("/home/user/Desktop/notes.txt").decode(),
    }


if __name__ == "__main__":
    logging.disable(logging.CRITICAL)
    sys.stdout.write(json.dumps(main(sys.argv[1], sys.argv[2], Path(sys.argv[3]))) + "\n")
