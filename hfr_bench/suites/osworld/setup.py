"""Steps before an episode (`config`) and before its grading (`postconfig`), through the guest.

Upstream lets some steps fail silently; here a step before an episode must work, since without it
the trial would measure something else. Before the grading upstream's own rule holds: what the
agent has closed cannot be brought to the front, and that is no error.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

from hfr_bench.errors import BadInputError, InfrastructureError
from hfr_bench.suites.osworld.cache import cached_name
from hfr_bench.suites.osworld.errors import NotCachedError, UngradeableError
from hfr_bench.suites.osworld.tabs import OPEN_TABS
from hfr_bench.suites.osworld.world import OK, World, inside

Step = Mapping[str, Any]
_UPLOAD_TIMEOUT_S = 600.0
_OPEN_TIMEOUT_S = 1810.0  # the guest itself waits 1800 s for the window
_POLL_S, _POLLS = 0.3, 400
_TABS_TIMEOUT_S = 60.0
PACKAGE_SIZES = "{SCREEN_WIDTH_HALF} {SCREEN_HEIGHT_HALF} {SCREEN_WIDTH} {SCREEN_HEIGHT}"


class StepError(InfrastructureError):
    """A step did not work."""


def run_steps(
    steps: Sequence[Step], world: World, assets: Path | None = None, *, lenient: bool = False
) -> tuple[str, ...]:
    """Run steps in order; what did not work and may be let be.

    `assets`: the folder that `local_path` of upload_file is read from; `lenient`: upstream's rule,
    see above. Raises StepError; UngradeableError: a step that nothing here carries out.
    """
    notes = []
    for number, step in enumerate(steps, 1):
        kind, parameters = _kind(step, number)
        said = _carry_out(kind, parameters, world, assets)
        if not said:
            continue
        what = f"step {number} ({kind}): {said}"
        if kind in _NEVER_MIND or (lenient and kind not in _MUST):
            notes.append(what)
        else:
            raise StepError(what)
    return tuple(notes)


def _kind(step: Step, number: int) -> tuple[str, Mapping[str, Any]]:
    kind, parameters = step.get("type"), step.get("parameters")
    if not isinstance(kind, str) or not isinstance(parameters, Mapping):
        raise BadInputError(f"step {number}: must have a type and parameters")
    return kind, parameters


def _carry_out(kind: str, parameters: Mapping[str, Any], world: World, assets: Path | None) -> str:
    """Run a step; what did not work, "" if all did."""
    if kind == "upload_file":
        return _upload_file(parameters, world, assets)
    step = STEPS.get(kind)
    if step is None:
        raise UngradeableError(f"no step {kind!r}: there are {', '.join(KINDS)}")
    return step(parameters, world)


def steps_lacking(steps: Sequence[Step]) -> tuple[str, ...]:
    """The kinds of step that nothing here carries out, each once."""
    kinds = dict.fromkeys(str(step.get("type")) for step in steps)
    return tuple(kind for kind in kinds if kind not in KINDS)


def _posted(world: World, path: str, **sent: Any) -> str:
    answer = world.guest.call("POST", path, **sent)
    if answer.status == OK:
        return ""
    return f"the guest answered {answer.status}: {answer.body[:200].decode(errors='replace')}"


def _upload(world: World, path: str, data: bytes) -> str:
    return _posted(
        world,
        "/setup/upload",
        form={"file_path": path},
        files={"file_data": data},
        timeout_s=_UPLOAD_TIMEOUT_S,
    )


def _download(parameters: Mapping[str, Any], world: World) -> str:
    for file in parameters["files"]:
        kept = inside(world, cached_name(file["url"], file["path"]))
        if not kept.is_file():
            raise NotCachedError(f"{file['url']} is not in the cache as {kept}")
        said = _upload(world, file["path"], kept.read_bytes())
        if said:
            return f"{file['path']}: {said}"
    return ""


def _upload_file(parameters: Mapping[str, Any], world: World, assets: Path | None) -> str:
    for file in parameters["files"]:
        if assets is None:
            raise BadInputError("upload_file: this task has no folder of assets")
        local = (assets / file["local_path"]).resolve()
        if not local.is_relative_to(assets.resolve()) or not local.is_file():
            raise BadInputError(f"upload_file: no file {file['local_path']!r} in {assets}")
        said = _upload(world, file["path"], local.read_bytes())
        if said:
            return f"{file['path']}: {said}"
    return ""


def _launch(parameters: Mapping[str, Any], world: World) -> str:
    command, shell = parameters["command"], parameters.get("shell", False)
    if not command:
        raise BadInputError("launch: an empty command")
    if isinstance(command, str) and not shell and len(command.split()) > 1:
        command = command.split()
    return _posted(world, "/setup/launch", json={"command": command, "shell": shell})


def _open(parameters: Mapping[str, Any], world: World) -> str:
    sent = {"path": parameters["path"]}
    return _posted(world, "/setup/open_file", json=sent, timeout_s=_OPEN_TIMEOUT_S)


def _filled(command: Any, world: World) -> Any:
    """A command with the password and the screen's size put in."""
    width, height = world.screen
    sizes = (width // 2, height // 2, width, height)
    put = dict(zip(PACKAGE_SIZES.split(), map(str, sizes), strict=True))
    put["{CLIENT_PASSWORD}"] = world.password

    def fill(text: str) -> str:
        for mark, value in put.items():
            text = text.replace(mark, value)
        return text

    return fill(command) if isinstance(command, str) else [fill(part) for part in command]


def _execute(parameters: Mapping[str, Any], world: World) -> str:
    command = _filled(parameters["command"], world)
    if not command:
        raise BadInputError("execute: an empty command")
    sent = {"command": command, "shell": parameters.get("shell", False)}
    until, said = parameters.get("until") or {}, ""
    for _ in range(_POLLS):
        answer = world.guest.call("POST", "/setup/execute", json=sent)
        if answer.status != OK:
            said = f"the guest answered {answer.status}"
            if not until:
                return said
        else:
            done = json.loads(answer.body)
            _keep(parameters, world, done)
            if not until or _reached(until, done):
                return ""
            said = "it does not come to what until says"
        world.sleep(_POLL_S)
    return f"{said}, after {_POLLS} runs"


def _keep(parameters: Mapping[str, Any], world: World, done: Mapping[str, Any]) -> None:
    for key, field in (("stdout", "output"), ("stderr", "error")):
        if parameters.get(key):
            inside(world, parameters[key]).write_text(done.get(field) or "", "utf-8")


def _reached(until: Mapping[str, Any], done: Mapping[str, Any]) -> bool:
    return (
        ("returncode" in until and done.get("returncode") == until["returncode"])
        or ("stdout" in until and until["stdout"] in done["output"])
        or ("stderr" in until and until["stderr"] in done["error"])
    )


def _verified(parameters: Mapping[str, Any], world: World) -> str:
    limit = parameters.get("max_wait_time", 10)
    sent = {
        "command": parameters["command"],
        "shell": parameters.get("shell", False),
        "verification": parameters.get("verification") or {},
        "max_wait_time": limit,
        "check_interval": parameters.get("check_interval", 1.0),
    }
    path = "/setup/execute_with_verification"
    return _posted(world, path, json=sent, timeout_s=limit + 10)


def _window(path: str) -> Callable[[Mapping[str, Any], World], str]:
    def step(parameters: Mapping[str, Any], world: World) -> str:
        sent = {
            "window_name": parameters["window_name"],
            "strict": parameters.get("strict", False),
            "by_class": parameters.get("by_class", False),
        }
        return _posted(world, path, json=sent)

    return step


def _wallpaper(parameters: Mapping[str, Any], world: World) -> str:
    return _posted(world, "/setup/change_wallpaper", json={"path": parameters["path"]})


def _open_tabs(parameters: Mapping[str, Any], world: World) -> str:
    command = ["python3", "-c", OPEN_TABS, json.dumps(parameters["urls_to_open"])]
    sent = {"command": command, "shell": False}
    answer = world.guest.call("POST", "/setup/execute", json=sent, timeout_s=_TABS_TIMEOUT_S)
    if answer.status != OK:
        return f"the guest answered {answer.status}"
    done = json.loads(answer.body)
    return "" if done.get("returncode") == 0 else f"no tab: {str(done.get('error'))[-200:]}"


def _sleep(parameters: Mapping[str, Any], world: World) -> str:
    world.sleep(float(parameters["seconds"]))
    return ""


STEPS: Mapping[str, Callable[[Mapping[str, Any], World], str]] = MappingProxyType(
    {
        "download": _download,
        "launch": _launch,
        "open": _open,
        "execute": _execute,
        "command": _execute,
        "execute_with_verification": _verified,
        "activate_window": _window("/setup/activate_window"),
        "close_window": _window("/setup/close_window"),
        "change_wallpaper": _wallpaper,
        "chrome_open_tabs": _open_tabs,
        "sleep": _sleep,
    }
)
KINDS = (*STEPS, "upload_file")
_NEVER_MIND = frozenset({"activate_window", "close_window"})
_MUST = frozenset(
    {"download", "upload_file", "open", "execute_with_verification", "chrome_open_tabs"}
)
