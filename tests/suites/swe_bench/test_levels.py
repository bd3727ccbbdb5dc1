"""Levels of shell commands: what was measured, what must not be missed, and the law of adding."""

import shlex
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hfr_bench.model.terms import SideEffect
from hfr_bench.suites.swe_bench.levels import level_of

# Each was run twice in the repository of a real instance: R1 the second run left the same state, R2
# it did not or was refused, R3 it destroys what is not recorded, or leaves the sandbox.
MEASURED = [
    ("grep -rn Blueprint src", "R0"),
    ("cat src/flask/app.py", "R0"),
    ("git diff", "R0"),
    ("python -m pytest -q tests/test_basic.py", "R0"),
    ("cat > f.py <<'EOF'\nx = 1\nEOF", "R1"),
    ("rm -f f.py", "R1"),
    ("mkdir -p d", "R1"),
    ("cp a b", "R1"),
    ("git checkout -- src/flask/app.py", "R1"),
    ("git diff > patch.txt", "R1"),
    ("sed -i s/old/new/g f", "R1"),
    ("git apply p.diff", "R2"),
    ("git apply --3way p.diff", "R2"),
    ("git commit -am x", "R2"),
    ("mkdir d", "R2"),
    ("mv a b", "R2"),
    ("rm f", "R2"),
    ("git apply --reject p.diff", "R2"),
    ("patch --batch -p1 -i p.diff", "R2"),
    ("patch --batch --forward -p1 -i p.diff", "R2"),
    ("sed -i '10i x = 1' f", "R2"),
    ("sed -i 10d f", "R2"),
    ("echo x >> f", "R2"),
    ("sed -i s/a/ab/g f", "R2"),
    ("git commit --allow-empty -m x", "R2"),
    ("git stash", "R3"),
    ("git reset --hard", "R3"),
    ("git clean -fdx", "R3"),
    ("rm -rf d", "R3"),
    ("git push origin main", "R3"),
    ("pip install -U requests", "R3"),
]
# Measured R1 on what was there; on other files, or a second later, they are not.
STRICTER = [
    ("sed -i s/old/new/ f", "a line may hold it twice"),
    ("git commit --amend -m x", "the hash of a commit holds the second it was made"),
    (
        "python -c \"import pathlib; pathlib.Path('f').write_text('x')\"",
        "a program may do anything",
    ),
]


@pytest.mark.parametrize(("script", "level"), MEASURED)
def test_as_measured(script, level):
    assert level_of(script).level == level


@pytest.mark.parametrize(("script", "why"), STRICTER)
def test_stricter_than_measured(script, why):
    assert level_of(script).level is SideEffect.QUERYABLE, why


@pytest.mark.parametrize(
    "script",
    [
        "ls -la /testbed; pwd",
        "cd /testbed && git --no-pager log -3 --oneline",
        "git -C /testbed status --porcelain",
        "git branch --show-current; git stash list; git remote -v; git config --get user.name",
        "git apply --check --reverse p.diff",
        "git clean -n",
        "find . -name '*.py' -exec grep -l foo {} +",
        "find . -name '*.py' | xargs -n 1 grep foo",
        "timeout 60 python -m pytest -rA -k 'a and b' 'tests/x.py::t[1]' 2>&1 | tail -20",
        "bash -c 'cat a | head'",
        "sed -n '1,20p' f",
        "awk '{print $1}' f",
        "export FOO=1; echo $FOO",
        "for i in 1 2 3; do echo $i; done",
        "if grep -q x f; then cat f; else true; fi",
        'x=$(cat f); echo "$x"',
        "cat f 2>/dev/null",
        "source /opt/testbed/bin/activate && python --version",
        "bin/test -C --verbose sympy/core/tests/test_basic.py",
        "./tests/runtests.py --verbosity 2 a.b",
        "sort f | uniq -c",
        "",
    ],
)
def test_reads(script):
    assert level_of(script).level is SideEffect.READ, level_of(script)


@pytest.mark.parametrize(
    "script",
    [
        "mkdir -p d && cat > d/f <<'EOF'\nhi\nEOF",
        "cd /testbed && cat > f <<'EOF'\nhi\nEOF",
        "echo a > f; rm -f g",
        "grep x f; echo y > g",
        "cat a | tee b",
        "x=$(cat f); echo $x > g",
        "chmod +x f",
        "ln -sfn a b",
        "git add -A",
        "bash -c 'echo x > f'",
    ],
)
def test_writes_that_settle(script):
    assert level_of(script).level is SideEffect.IDEMPOTENT, level_of(script)


@pytest.mark.parametrize(
    "script",
    [
        "cp a b; cp c a",
        "cat f > g && echo x > f",
        "grep -q x f || echo x > f",
        "[ -f f ] && rm -f g; touch f",
        "set -e; grep x f; echo y > g",
        "grep -q x f; if [ $? = 0 ]; then echo y > g; fi",
        "x=$(cat f); echo ${x}y > f",
        "date > f",
        "echo $RANDOM > f",
        "echo $$ > f",
        "bash -c date > f",
        "bash -c 'echo x > f; date' > g",
        "for f in *.py; do echo x > $f.bak; done",
        "cat <(sort b) > b",
        "cat b | sort > b",
        "cp -r a b",
        "cp $x b",
        "sort -o f f",
        "sed 2>e -i 10d f",
        "sed -i.bak s/a/b/g f",
        "tee -a f < g",
        "find . -delete",
        "PATH=/x:$PATH ls",
        "export GIT_DIR=/x; git status",
        "exec > log; date",
        "python -c 'print(1)'",
        "python - <<'E'\nx\nE",
        "bash script.sh",
        "eval $x",
        "$CMD f",
        "f() { echo x > g; }; f",
        "alias ls=rm; ls x",
        "awk '{print > \"f\"}' f",
        "git log --output=f",
        "git -c alias.x='!rm y' x",
        "curl http://x.example",
        "pip install -e .",
        "pytest --junitxml=x.xml",
        "pytest -p evil",
        "cd a; cat x > y; cd b; cp y x",
        "echo 'unclosed",
        "nohup ls",
        "sudo ls",
        "git checkout main",
        "rm -f $x",
        "date 010100002024",
        "file -C -m x",
        "source x/bin/activate",
        "pytest @words",
        "watch ls",
        "trap ls EXIT",
        "chmod -R 755 d",
    ],
)
def test_what_must_not_be_missed(script):
    assert level_of(script).level is SideEffect.QUERYABLE, level_of(script)


@pytest.mark.parametrize(
    "script",
    [
        "cat f | mail -s x a@b.example",
        "bash -c 'git push'",
        "bash <<'E'\ngit push\nE",
        'eval "git push"',
        "find . -exec rm -rf {} \\;",
        "ls | xargs rm -r",
        "sudo git push",
        "env A=1 timeout 5 git push",
        "timeout --odd 5 git push",
        "nohup git push &",
        "watch -n 1 git push",
        "trap 'rm -rf d' EXIT",
        "echo 'unclosed; git push",
        "curl -X POST http://x.example",
        "echo x > /dev/tcp/x/80",
        "git --odd push",
        "git checkout -f",
        "git branch -D x",
        "ssh x ls",
        "/usr/bin/git push",
        "\\rm -rf x",
        "r'm' -rf x",
        "$(git push)",
        "x=`git push`",
        "cat <<E\n$(git push)\nE",
        "if true; then (git push &) fi",
    ],
)
def test_what_destroys_or_leaves(script):
    assert level_of(script).level is SideEffect.IRREVERSIBLE, level_of(script)


def test_why_is_told():
    assert level_of("ls").why == ""
    assert level_of("echo x >> f").why == ">> adds the same lines again"
    assert "PATH" in level_of("PATH=x ls").why


def test_absurd_depth_ends():
    script = "ls"
    for _ in range(9):
        script = f"bash -c {shlex.quote(script)}"
    assert level_of(script).level is SideEffect.QUERYABLE


SIMPLE = st.sampled_from(
    [script for script, _ in MEASURED if "\n" not in script]
    + ["ls", "x=1", "cd d", "date", "python x.py", "[ -f a ]", "touch a", "echo \"it's\" 'a b'"]
)


def joined(scripts):
    """Scripts put together in one of the ways in which each of them still runs, or may."""
    two = st.tuples(scripts, scripts)
    return st.one_of(
        st.tuples(two, st.sampled_from(["; ", " && ", " || ", " | ", "\n", " & "])).map(
            lambda t: (t[1].join(t[0]), t[0])
        ),
        scripts.map(lambda s: (f"({s})", (s,))),
        scripts.map(lambda s: (f"{{ {s}; }} 2>/dev/null", (s,))),
        scripts.map(lambda s: (f"bash -c {shlex.quote(s)}", (s,))),
        scripts.map(lambda s: (f"echo $( {s} )", (s,))),
        scripts.map(lambda s: (f"for i in 1 2; do {s}; done", (s,))),
        two.map(lambda t: (f"if {t[0]}; then {t[1]}; fi", t)),
    )


@settings(deadline=None)
@given(joined(joined(SIMPLE).map(lambda t: t[0]) | SIMPLE))
def test_adding_a_command_never_lowers_the_level(made):
    whole, parts = made
    level = level_of(whole).level
    assert level.value >= max(level_of(part).level.value for part in parts), (whole, parts)


@settings(deadline=None)
@given(st.text("ab'\"$(){};&|<>`\\ \n#=*\0é", max_size=30))
def test_no_text_makes_it_raise(text):
    assert level_of(text).level in SideEffect


FOUND = [
    *("mkdir -p d", "echo new > a", "cp a b", "rm -f a", "sed -i s/old/new/g a", "touch n"),
    *("cat a > b", "rm -f b", "cp b c", "mkdir -p e && echo x > e/f", "cat a | tee c"),
    *("cat c > a", "chmod 600 a", "ln -sfn a l", "echo old > c"),
]


def state(folder):
    """Everything in a folder: name -> where it points, or bytes and mode."""
    found = {}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if path.is_symlink():
            found[name] = str(path.readlink())
        else:
            found[name] = (path.is_dir() or path.read_bytes(), path.stat().st_mode)
    return found


@settings(deadline=None, max_examples=60)
@given(st.lists(st.sampled_from(FOUND), min_size=1, max_size=4).map("; ".join))
def test_what_is_called_idempotent_is(tmp_path_factory, script):
    """R1 scripts, run twice by the real bash, leave what one run leaves."""
    if level_of(script).level is not SideEffect.IDEMPOTENT:
        return
    folder = tmp_path_factory.mktemp("twice")
    for name in "abc":
        Path(folder, name).write_text(f"old {name}\n")
    seen = []
    for _ in range(2):
        subprocess.run(["/bin/bash", "-c", script], cwd=folder, check=False, capture_output=True)
        seen.append(state(folder))
    shutil.rmtree(folder)
    assert seen[0] == seen[1], script
