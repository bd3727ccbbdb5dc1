"""What sandboxed code sees of the world, told by code inside: nothing."""

import socket
from collections.abc import Iterator
from typing import Any

import pytest
from docker import APIClient

pytestmark = pytest.mark.docker

# Files that every engine puts into a container itself; all else must be in memory or the image.
ENGINES_OWN = {"/etc/resolv.conf", "/etc/hostname", "/etc/hosts"} | {
    f"{folder}/docker-init" for folder in ("/sbin", "/usr/sbin")
}

STATUS = """
status = dict(line.split(":\\t", 1) for line in open("/proc/self/status").read().splitlines())
said = {key: status[key].strip() for key in ("CapEff", "CapPrm", "CapBnd", "NoNewPrivs", "Seccomp")}
said["ids"] = [os.getuid(), os.getgid(), os.getgroups()]
"""

CALLS = """
def tried(name, *call):
    ctypes.set_errno(0)
    return "done" if getattr(libc, name)(*call) == 0 else errno.errorcode[ctypes.get_errno()]
said = {
    "mount": tried("mount", b"none", b"/tmp", b"tmpfs", 0, None),
    "umount": tried("umount2", b"/tmp", 0),
    "namespace": tried("unshare", 0x10000000),
    "chroot": tried("chroot", b"/tmp"),
    "hostname": tried("sethostname", b"me", 2),
    "clock": tried("settimeofday", ctypes.create_string_buffer(16), None),
    "device": tried("mknod", b"/tmp/disk", 0o60600, 0xfe00),
}
"""

WRITES = """
said = {}
for path in ("/x", "/etc/x", "/usr/x", "/var/tmp/x", "/proc/sys/kernel/hostname", "/sys/x"):
    try:
        open(path, "w").close()
        said[path] = "written"
    except OSError as error:
        said[path] = errno.errorcode[error.errno]
"""

MOUNTS = """
said = []
for line in open("/proc/self/mountinfo"):
    before, after = line.split(" - ")
    said.append([before.split()[4], *after.split()[:2], before.split()[5]])
"""

NETWORK = """
import threading
def connect(name, address):
    try:
        socket.create_connection(address, timeout=2).close()
        said[name] = "connected"
    except OSError as error:
        said[name] = type(error).__name__
    except BaseException as error:
        said[name] = repr(error)
said = {}
places = {"name": ("example.com", 80), "address": ("192.0.2.7", 80)}
places |= {"metadata": ("169.254.169.254", 80)}
for line in open("/proc/net/route").read().splitlines()[1:]:
    # The first address of each network it is on, and its gateway: the engine's machine, if anybody.
    for number in line.split()[1:3]:
        first = socket.inet_ntoa((int(number, 16) | 1 << 24).to_bytes(4, "little"))
        places |= {f"{first}:{port}": (first, port) for port in PORTS}
tries = [threading.Thread(target=connect, args=place) for place in places.items()]
for each in tries: each.start()
for each in tries: each.join()
said["interfaces"] = sorted(name for _, name in socket.if_nameindex())
"""


def test_nobody_in_particular_without_any_right(sandbox: Any, probe: Any, do: Any) -> None:
    said = do(sandbox.start(probe()), STATUS)
    assert int(said["CapEff"], 16) == int(said["CapPrm"], 16) == int(said["CapBnd"], 16) == 0
    assert (said["NoNewPrivs"], said["Seccomp"]) == ("1", "2")
    assert said["ids"][:2] == [1000, 1000]
    assert 0 not in said["ids"][2]


def test_calls_that_would_lead_out_are_refused(sandbox: Any, probe: Any, do: Any) -> None:
    assert set(do(sandbox.start(probe()), CALLS).values()) == {"EPERM"}


def test_no_other_users_process_can_be_traced(
    sandbox: Any, probe: Any, do: Any, engine: APIClient
) -> None:
    host = sandbox.start(probe())
    other = engine.exec_create(host.container, ["sleep", "60"], user="0")
    engine.exec_start(other, detach=True)
    code = """
def owner(pid):
    return os.stat(f"/proc/{pid}").st_uid
others = [int(pid) for pid in os.listdir("/proc") if pid.isdigit() and owner(pid) == 0]
libc.ptrace(16, others[0], 0, 0)
said = errno.errorcode[ctypes.get_errno()]
"""
    assert do(host, code) == "EPERM"


def test_even_roots_calls_are_refused_where_a_command_asks_for_root(
    sandbox: Any, probe: Any, do: Any
) -> None:
    host = sandbox.start(probe(user="0:0"))
    assert set(do(host, CALLS).values()) <= {"EPERM", "EACCES"}
    assert int(do(host, STATUS)["CapEff"], 16) == 0


def test_a_command_keeps_the_capabilities_it_names(sandbox: Any, probe: Any, do: Any) -> None:
    host = sandbox.start(probe(user="0:0", keeps=("CHOWN",)))
    assert int(do(host, STATUS)["CapEff"], 16) == 1


def test_nothing_is_writable_but_scratch_space(sandbox: Any, probe: Any, do: Any) -> None:
    host = sandbox.start(probe())
    said = do(host, WRITES)
    assert "written" not in said.values()
    assert said["/x"] == "EROFS"
    code = "said = []\nfor path in ('/tmp/x', 'x'): said.append(open(path, 'w').write('xy'))"
    assert do(host, code + "\nsaid.append(os.getcwd())") == [2, 2, "/sandbox"]


def test_scratch_space_has_a_size_and_no_special_files(make: Any, probe: Any, do: Any) -> None:
    host = make(scratch_mib=3).start(probe())
    code = "said = [(s.f_blocks * s.f_frsize, s.f_flag & 6) for s in map(os.statvfs, {})]"
    assert do(host, code.format(["/tmp", "/sandbox"])) == [[3 << 20, 6]] * 2


def test_nothing_of_the_machine_is_mounted(sandbox: Any, probe: Any, do: Any) -> None:
    mounts = do(sandbox.start(probe()), MOUNTS)
    of_disk = {point for point, kind, source, _ in mounts if source.startswith("/dev/")}
    assert of_disk <= ENGINES_OWN
    kinds = {kind for point, kind, *_ in mounts if point not in of_disk}
    assert kinds <= {"overlay", "proc", "tmpfs", "devpts", "sysfs", "cgroup", "cgroup2", "mqueue"}
    assert all("ro" in options.split(",") for point, _, _, options in mounts if point == "/")
    code = """
tops = [top for top in os.listdir("/") if top not in ("proc", "sys")]
said = [file for top in tops for _, _, files in os.walk("/" + top) for file in files]
said = [file for file in said if file.endswith(".sock")]
"""
    assert do(sandbox.start(probe()), code) == []


def test_it_sees_no_process_and_no_name_of_the_machine(sandbox: Any, probe: Any, do: Any) -> None:
    host = sandbox.start(probe())
    code = "said = [open(p, 'rb').read().decode() for p in glob.glob('/proc/[0-9]*/cmdline')]"
    lines = do(host, code)
    assert len(lines) == 2  # its init, and itself
    assert all("python3" in line for line in lines)
    assert do(host, "said = socket.gethostname()") == "sandbox"
    names = do(host, "said = sorted(os.environ)")
    assert set(names) <= {"PATH", "HOME", "HOSTNAME", "LC_CTYPE", "LANG", "GPG_KEY"} | {
        name for name in names if name.startswith("PYTHON")
    }


@pytest.fixture
def port() -> Iterator[int]:
    """A server on every address of this machine."""
    with socket.create_server(("0.0.0.0", 0)) as server:
        yield server.getsockname()[1]


@pytest.mark.parametrize("network", [None, "mail"])
def test_it_reaches_nothing_outside(
    sandbox: Any, probe: Any, do: Any, port: int, network: str | None
) -> None:
    host = sandbox.start(probe(network=network, alias="me"))
    said = do(host, f"PORTS = [{port}, 22, 53, 80]\n{NETWORK}", 60)
    assert said.pop("interfaces") == (["lo"] if network is None else ["eth0", "lo"])
    assert said["name"] == "gaierror"
    assert len(said) >= (3 if network is None else 7)
    assert set(said.values()) <= {"gaierror", "OSError", "TimeoutError"}
