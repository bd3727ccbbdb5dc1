"""OSWorld's HTTP API: which path is answered how. What needs a screen is in `screen.py`.

Statuses, fields and forms are those that the client of `desktop-env` 1.0.2 sends and reads. Ours
alone are `GET /hfr/operations[/ID]`, `GET /hfr/ready`, and the id of an operation on any request.
"""

import json
import os
import platform
import re
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol

from .commands import HOME, Ran, Runner
from .operations import Operations
from .wire import ApiError, Request, Response, as_json, text

PYTHON_TIMEOUT_S = 30.0
SCRIPT_TIMEOUT_S = 100.0
_HOME = re.compile(rb"/home/user(?![\w.-])")

Handler = Callable[[Request], Response]


class Screen(Protocol):
    """What a guest with a screen answers besides."""

    def routes(self) -> Mapping[tuple[str, str], Handler]: ...

    def window_exists(self, name: str) -> bool: ...

    def warm(self, argv: list[str], operation: str, timeout_s: float) -> Ran | None:
        """Run a `python -c` in the warm interpreter; None: it is nothing for that."""
        ...


class Api:
    """Answers requests. Each may take long; every one is answered in a thread of its own.

    `screen` None: the profile without one. A home that lies elsewhere than OSWorld's is shown as if
    it lay there: `/home/user` in requests is taken for it, and it for that in answers.
    """

    def __init__(self, runner: Runner, operations: Operations, screen: Screen | None) -> None:
        self._runner = runner
        self._operations = operations
        self._screen = screen
        self._aliased = runner.aliased
        self._routes: dict[tuple[str, str], Handler] = {
            ("POST", "/execute"): self._execute,
            ("POST", "/setup/execute"): self._execute,
            ("POST", "/execute_with_verification"): self._verified,
            ("POST", "/setup/execute_with_verification"): self._verified,
            ("POST", "/run_python"): self._run_python,
            ("POST", "/run_bash_script"): self._run_script,
            ("POST", "/setup/launch"): self._launch,
            ("POST", "/setup/upload"): self._upload,
            ("POST", "/file"): self._file,
            ("POST", "/list_directory"): self._list,
            ("POST", "/desktop_path"): self._desktop,
            ("GET", "/platform"): lambda _request: text(platform.system()),
            ("GET", "/terminal"): lambda _request: as_json({"output": None, "status": "success"}),
            ("GET", "/hfr/ready"): lambda _request: as_json({"screen": screen is not None}),
            ("GET", "/hfr/operations"): self._all_operations,
        }
        if screen is not None:
            self._routes.update(screen.routes())

    def answer(self, request: Request) -> Response:
        """The answer to one request, whatever it is; what belongs to an operation is noted."""
        request = self._inward(request)
        operation = request.operation() if request.method == "POST" else ""
        run = 0
        try:
            handler = self._route(request)
            if operation:
                run = self._operations.begin(operation, request.path)
            response = handler(request)
        except ApiError as error:
            response = error.response
        except Exception as error:  # noqa: BLE001 - a guest answers, whatever it is asked
            response = as_json({"status": "error", "message": f"{error}"}, 500)
        if run:
            self._operations.end(operation, run, response.status, _returncode(response))
        return self._outward(request, response)

    def _route(self, request: Request) -> Handler:
        if request.path.startswith("/hfr/operations/") and request.method == "GET":
            return self._one_operation
        found = self._routes.get((request.method, request.path))
        if found is None:
            methods = sorted(method for method, path in self._routes if path == request.path)
            if methods:
                raise ApiError(405, f"{request.path} takes {', '.join(methods)}")
            if self._screen is None and request.path in NEED_A_SCREEN:
                message = f"{request.path} needs a screen, and this guest has none (profile shell)"
                raise ApiError(501, {"status": "error", "message": message})
            raise ApiError(404, f"there is no {request.path}")
        return found

    # -- commands -----------------------------------------------------------------------------

    def _execute(self, request: Request) -> Response:
        return as_json({"status": "success", **self._ran(request)._asdict()})

    def _ran(self, request: Request) -> Ran:
        """Raises ApiError, as OSWorld answers: 500 for what cannot be started or takes too long."""
        command, shell = self._runner.words(request.json())
        operation = request.call()
        try:
            if self._screen is not None and isinstance(command, list) and not shell:
                timeout_s = float(request.json().get("timeout", 120))
                if (ran := self._screen.warm(command, operation, timeout_s)) is not None:
                    return ran
            return self._runner.run(command, shell=shell, operation=operation)
        except (OSError, subprocess.TimeoutExpired) as error:
            raise ApiError(500, {"status": "error", "message": str(error)}) from None

    def _verified(self, request: Request) -> Response:
        """Run it, then look until what it should bring about is there."""
        ran = self._ran(request)
        data = request.json()
        wanted = data.get("verification") or {}
        if not wanted:
            return as_json({"status": "success", **ran._asdict()})
        began = time.monotonic()
        wait_s, every_s = float(data.get("max_wait_time", 10)), float(data.get("check_interval", 1))
        while (waited := time.monotonic() - began) < wait_s:
            if self._holds(wanted):
                passed = {"status": "success", "verification": "passed", "wait_time": waited}
                return as_json(passed | ran._asdict())
            time.sleep(every_s)
        failed = {"status": "verification_failed", "verification": "failed", "wait_time": wait_s}
        return as_json(failed | ran._asdict(), 500)

    def _holds(self, wanted: Mapping[str, Any]) -> bool:
        name, command = wanted.get("window_exists"), wanted.get("command_success")
        if name is not None and not (self._screen and self._screen.window_exists(str(name))):
            return False
        if command is None:
            return True
        try:
            ran = self._runner.run(["sh", "-c", str(command)], shell=False, timeout_s=5)
        except (OSError, subprocess.TimeoutExpired):
            return False
        return ran.returncode == 0

    def _run_python(self, request: Request) -> Response:
        code = request.json().get("code")
        if not isinstance(code, str) or not code:
            raise ApiError(400, {"status": "error", "message": "Code not supplied!"})
        try:
            ran = self._run_file(
                ["python"], ".py", code, PYTHON_TIMEOUT_S, request.call(), joined=False
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            message = f"Execution error: {error}"
            told = {"status": "error", "message": message, "error": str(error), "output": None}
            raise ApiError(500, told | {"need_more": False}) from None
        wrong = ran.error
        if ran.returncode and not wrong:
            wrong = f"Process exited with code {ran.returncode}"
        message = "\n".join(said for said in (ran.output, wrong) if said)
        status = "error" if ran.returncode else "success"
        body = {"status": status, "message": message, "need_more": False, "output": ran.output}
        return as_json(body | {"error": wrong, "return_code": ran.returncode})

    def _run_script(self, request: Request) -> Response:
        data = request.json()
        script, cwd = data.get("script"), data.get("working_dir") or ""
        if not isinstance(script, str) or not script:
            raise ApiError(400, _script_failed("Script not supplied!"))
        cwd = str(self._runner.expand(str(cwd))) if cwd else ""
        if cwd and not Path(cwd).is_dir():
            raise ApiError(400, _script_failed(f"Working directory does not exist: {cwd}"))
        timeout_s = float(data.get("timeout", SCRIPT_TIMEOUT_S))
        try:
            ran = self._run_file(
                ["bash"], ".sh", script, timeout_s, request.call(), joined=True, cwd=cwd
            )
        except subprocess.TimeoutExpired:
            message = f"Script execution timed out after {timeout_s:g} seconds"
            raise ApiError(500, _script_failed(message)) from None
        except OSError as error:
            raise ApiError(500, _script_failed(f"Failed to execute script: {error}")) from None
        return as_json({"status": "error" if ran.returncode else "success", **ran._asdict()})

    def _run_file(
        self,
        by: list[str],
        suffix: str,
        content: str,
        timeout_s: float,
        operation: str,
        *,
        joined: bool,
        cwd: str = "",
    ) -> Ran:
        with tempfile.NamedTemporaryFile("w", suffix=suffix, encoding="utf-8") as file:
            file.write(content)
            file.flush()
            return self._runner.run(
                [*by, file.name],
                shell=False,
                operation=operation,
                timeout_s=timeout_s,
                joined=joined,
                cwd=cwd,
            )

    def _launch(self, request: Request) -> Response:
        command, shell = self._runner.words(request.json())
        try:
            self._runner.launch(command, shell=shell)
        except OSError as error:
            raise ApiError(500, {"status": "error", "message": str(error)}) from None
        said = command if isinstance(command, str) else " ".join(command)
        return text(f"{said} launched successfully")

    # -- files --------------------------------------------------------------------------------

    def _upload(self, request: Request) -> Response:
        form = request.form()
        if "file_path" not in form or "file_data" not in form:
            raise ApiError(400, {"error": "file_path and file_data are required"})
        path, data = self._runner.expand(form["file_path"].decode()), form["file_data"]
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
        except OSError as error:
            raise ApiError(500, {"error": f"Failed to upload file: {error}"}) from None
        return text(f"File Uploaded: {len(data)} bytes")

    def _file(self, request: Request) -> Response:
        form = request.form()
        if "file_path" not in form:
            raise ApiError(400, {"error": "file_path is required"})
        path = self._runner.expand(form["file_path"].decode("utf-8", "replace"))
        try:
            data = path.read_bytes()
        except (FileNotFoundError, NotADirectoryError):
            raise ApiError(404, {"error": "File not found"}) from None
        except (OSError, ValueError) as error:
            raise ApiError(500, {"error": f"Failed to serve file: {error}"}) from None
        named = {"Content-Disposition": f"attachment; filename={json.dumps(path.name)}"}
        return Response(200, data, "application/octet-stream", named)

    def _list(self, request: Request) -> Response:
        path = request.json().get("path")
        if not isinstance(path, str) or not path:
            raise ApiError(400, {"error": "Missing 'path' parameter"})
        where = self._runner.expand(path)
        if not where.is_dir():
            raise ApiError(400, {"error": "The provided path is not a directory"})
        return as_json({"directory_tree": _tree(where)})

    def _desktop(self, _request: Request) -> Response:
        where = self._runner.home / "Desktop"
        if not where.is_dir():
            message = "Unsupported operating system or desktop path not found"
            raise ApiError(404, {"error": message})
        return as_json({"desktop_path": str(where)})

    # -- ours ---------------------------------------------------------------------------------

    def _all_operations(self, _request: Request) -> Response:
        return as_json({"operations": self._operations.all()})

    def _one_operation(self, request: Request) -> Response:
        return as_json(self._operations.find(request.path.removeprefix("/hfr/operations/")))

    def _inward(self, request: Request) -> Request:
        json_body = request.headers.get("content-type", "").startswith("application/json")
        if not self._aliased or not json_body:
            return request  # of a form, `Runner.expand` takes the path
        body = _HOME.sub(str(self._runner.home).encode(), request.body)
        return Request(request.method, request.path, request.headers, body)

    def _outward(self, request: Request, response: Response) -> Response:
        files = ("/file", "/wallpaper", "/screenshot")
        if not self._aliased or (request.path in files and response.status == 200):
            return response
        body = response.body.replace(str(self._runner.home).encode(), HOME.encode())
        return Response(response.status, body, response.content_type, response.headers)


NEED_A_SCREEN = frozenset(
    (
        *("/screenshot", "/accessibility", "/cursor_position", "/screen_size", "/window_size"),
        *("/wallpaper", "/setup/change_wallpaper", "/setup/open_file", "/setup/activate_window"),
        *("/setup/close_window", "/start_recording", "/end_recording"),
    )
)


def _tree(path: Path) -> dict[str, Any]:
    """A folder as OSWorld's client reads it; what may not be read is left out."""
    children: list[dict[str, Any]] = []
    try:
        entries = sorted(os.scandir(path), key=lambda entry: entry.name)
    except OSError:
        entries = []
    for entry in entries:
        if entry.is_dir(follow_symlinks=False):
            children.append(_tree(Path(entry.path)))
        else:
            children.append({"type": "file", "name": entry.name})
    return {"type": "directory", "name": path.name, "children": children}


def _script_failed(output: str) -> dict[str, Any]:
    return {"status": "error", "output": output, "error": "", "returncode": -1}


def _returncode(response: Response) -> int | None:
    """The exit code that an answer tells of, if it does."""
    if response.content_type != "application/json":
        return None
    told = json.loads(response.body)
    found = told.get("returncode", told.get("return_code")) if isinstance(told, dict) else None
    return found if isinstance(found, int) else None
