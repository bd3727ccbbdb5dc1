"""Faults of a desktop in a container: a folder, a program, the focus, the clock.

What was broken is remembered after it is undone, so that whoever looks then sees whether it is.
"""

from collections.abc import Callable
from typing import Any

from docker import APIClient

from hfr_bench.ports.sandbox import KillApp, Protect, ShowModal, SkewClock, StopApp
from hfr_bench.sandboxes.docker import inside

Undo = Callable[[APIClient], object]

_PROTECT = 'stat -c %a "$HFR_PATH" && chmod a-w "$HFR_PATH"'
_GIVE_BACK = '[ ! -d "$HFR_PATH" ] || chmod "$HFR_MODE" "$HFR_PATH"'
_SKEW = """\
ls /usr/lib/*/faketime/libfaketime.so.1 >/dev/null || exit 9
echo "$HFR_OFFSET_S" >"$HFR_PATH"
"""
_UNSKEW = 'rm -f "$HFR_PATH"'
# Prints its number, once its window has the focus.
_SHOW = """\
command -v xmessage wmctrl xdotool >/dev/null || exit 9
export DISPLAY="${DISPLAY:-:0}" XAUTHORITY="${XAUTHORITY:-$HOME/.Xauthority}"
setsid xmessage -title "$HFR_TITLE" -center -buttons Later \
    "Updates are ready to be installed." >/dev/null 2>&1 </dev/null &
pid=$!
for _ in $(seq 200); do
    wmctrl -a "$HFR_TITLE" 2>/dev/null
    if [ "$(xdotool getactivewindow getwindowname 2>/dev/null)" = "$HFR_TITLE" ]; then
        echo "$pid"
        exit 0
    fi
    sleep 0.05
done
kill "$pid"
exit 8
"""
_DISMISS = "kill $HFR_PID 2>/dev/null; true"
# Prints: whether the folder may be written to by nobody, how many of the program's processes are
# halted, whether the dialog is there, by how much the clock is off.
_STATE = """\
protected=0 stopped=0 modal=0 skew=0
if [ -n "$HFR_PATH" ] && [ -d "$HFR_PATH" ]; then
    [ $((0$(stat -c %a "$HFR_PATH") & 0222)) -ne 0 ] || protected=1
fi
for dir in /proc/[0-9]*; do
    line=$(tr '\\0' ' ' <"$dir/cmdline" 2>/dev/null) || continue
    case ${dir#/proc/}:$line in 1:*|*HFR_MATCH*) continue ;; esac
    case $line in *"$HFR_MATCH"*) ;; *) continue ;; esac
    stat=$(cat "$dir/stat" 2>/dev/null) || continue
    case ${stat##*) } in T*) stopped=$((stopped + 1)) ;; esac
done
case $(cat "/proc/$HFR_PID/comm" 2>/dev/null) in xmessage*) modal=1 ;; esac
if [ -n "$HFR_CLOCK" ] && [ -s "$HFR_CLOCK" ]; then
    library=$(ls /usr/lib/*/faketime/libfaketime.so.1)
    told=$(LD_PRELOAD=$library FAKETIME=$(cat "$HFR_CLOCK") date +%s)
    skew=$((told - $(date +%s)))
fi
echo "[$protected, $stopped, $modal, $skew]"
"""
_NOTHING = "\x01"  # an empty pattern would match everybody; no command line holds this one


class Desk:
    """What is broken of one container's desktop. `dialog`: the process of one that was shown."""

    def __init__(self, container: str) -> None:
        self._container = container
        self._folder = self._clock = self._match = ""
        self._hit: int | None = None
        self.dialog = ""

    def state(self, client: APIClient) -> dict[str, Any]:
        """Fields of `HostState`, of what was ever broken here; none where nothing was."""
        if not (self._folder or self._clock or self._match or self.dialog):
            return {}
        env = {
            "HFR_PATH": self._folder,
            "HFR_MATCH": self._match or _NOTHING,
            "HFR_PID": self.dialog or "none",
            "HFR_CLOCK": self._clock,
        }
        protected, stopped, modal, skew_s = inside.told(client, self._container, _STATE, env)
        return {
            "protected": bool(protected),
            "app": self._hit,
            "app_stopped": stopped,
            "modal": bool(modal),
            "skew_s": skew_s,
        }

    def protect(self, client: APIClient, fault: Protect) -> Undo:
        self._folder = fault.path
        mode = self._run(client, _PROTECT, {"HFR_PATH": fault.path})
        back = {"HFR_PATH": fault.path, "HFR_MODE": mode}
        return lambda client: self._run(client, _GIVE_BACK, back)

    def kill_app(self, client: APIClient, fault: KillApp) -> Undo:
        self._strike(client, "KILL", fault.match)
        return self._forget

    def stop_app(self, client: APIClient, fault: StopApp) -> Undo:
        pids = self._strike(client, "STOP", fault.match)

        def let_go(client: APIClient) -> None:
            self._run(client, inside.CONTINUE, {"HFR_PIDS": pids})
            self._forget(client)

        return let_go

    def show_modal(self, client: APIClient, fault: ShowModal) -> None:
        """No way back but `dismiss`: it stays, whoever calls."""
        if self.dialog:
            self.dismiss(client)
        self.dialog = self._run(client, _SHOW, {"HFR_TITLE": fault.title})

    def dismiss(self, client: APIClient) -> None:
        """End the dialog, if nobody has."""
        self._run(client, _DISMISS, {"HFR_PID": self.dialog})
        self.dialog = ""

    def skew_clock(self, client: APIClient, fault: SkewClock) -> Undo:
        self._clock = fault.path
        where = {"HFR_PATH": fault.path, "HFR_OFFSET_S": f"{fault.offset_s:+d}"}
        self._run(client, _SKEW, where)
        return lambda client: self._run(client, _UNSKEW, where)

    def _strike(self, client: APIClient, signal: str, match: str) -> str:
        self._match = match
        env = {"HFR_SIGNAL": signal, "HFR_MATCH": match}
        # One that ends meanwhile is told of in words.
        pids = [word for word in self._run(client, inside.SIGNAL, env).split() if word.isdigit()]
        self._hit = len(pids)
        return " ".join(pids)

    def _forget(self, _client: APIClient) -> None:
        self._hit = None

    def _run(self, client: APIClient, script: str, env: dict[str, str]) -> str:
        return inside.run(client, self._container, script, env)
