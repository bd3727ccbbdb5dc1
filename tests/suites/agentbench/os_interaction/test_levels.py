"""The level of a script by its text, held against a real shell by running it twice."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hfr_bench.model.terms import SideEffect
from hfr_bench.suites.agentbench.os_interaction.levels import level_of
from hfr_bench.suites.agentbench.os_interaction.world import OsWorld

LEVELS = {
    "": "R0",
    "cat a | grep -c x && ls -l": "R0",
    "#!/bin/bash\n# what's there\nfor f in *.txt; do wc -l $f; done": "R0",
    "if [ -e a ]; then echo yes; else echo no; fi": "R0",
    "n=$(ls | wc -l); echo $((n + 1)) 2>/dev/null": "R0",
    'echo "$(pwd)"': "R0",
    r"find . -name '*.c' -exec wc -l {} \; | awk -F '|' '{s += $1 > 2} END {print s}'": "R0",
    "find . -print0 | xargs -0 grep x": "R0",
    "sort a | uniq -c | sed 's/a/b/'": "R0",
    "mkdir -p a/b": "R1",
    "touch 'a b'; ls": "R1",
    "[ -e a ] && chmod 600 a": "R1",
    "echo 'x' > a": "R1",
    "rm -f a": "R1",
    "echo x >> a": "R2",
    "touch a/b; mkdir -p a": "R2",  # the second makes room for the first
    "[ -e a ] && rm -f a || touch a": "R2",
    "cd a; mkdir -p a": "R2",
    "echo a' '; rm a; echo ' b'": "R2",
    "echo $'a\\'; rm a; echo '": "R2",
    'sort -"o" a a': "R2",
    "sort -oa a": "R2",
    "sort -{o,n} a": "R2",
    'r"m" a': "R2",
    "sed 's/a/b/gw c' d": "R2",
    "sed -n 1w\\ b a": "R2",
    "awk -f program a": "R2",
    "date -s 12:00": "R2",
    "file a": "R0",
    "file -C -m a": "R2",
    "file --comp -m a": "R2",  # shortened
    "who | wc -l; getent passwd ann; echo 1 + 1 | bc": "R0",
    "ssh host ls": "R3",
    "cat <(rm a)": "R2",
    "echo x > >(tee a)": "R2",
    "(rm a)": "R2",
    "echo $x > a": "R2",
    "echo $((n + 1)) > a": "R2",
    "ls > a": "R2",
    "sort -o a a": "R2",
    "sed -i s/a/b/ c": "R2",
    "chmod u+x a": "R2",
    "mkdir a": "R2",
    "rm a": "R2",
    "mv a b": "R2",
    "cat <<E > a\nx\nE": "R2",
    "echo `rm a`": "R2",
    'echo "now: $(rm a)"': "R2",
    "n=$(rm a)": "R2",
    "echo '\n# b' ; rm a": "R2",
    "find . -exec rm {} +": "R2",
    "find . -delete": "R2",
    "find $options": "R2",
    "ls | xargs rm": "R2",
    "awk '{print > \"b\"}' a": "R2",
    "eval 'rm a'": "R2",
    "f() { rm a; }; f": "R2",
    "echo 'not closed": "R2",
    "ls & rm -r a": "R3",
    "rm -rf a; ls": "R3",
    "userdel ann": "R3",
    "kill 1": "R3",
}


@pytest.mark.parametrize(("script", "level"), LEVELS.items())
def test_levels(script: str, level: str) -> None:
    assert level_of(script) is SideEffect(level)


PIECES = st.sampled_from(
    [
        *("cat counter", "ls", "echo x > counter", "mkdir -p d", "touch d/e", "rm -f counter"),
        *("chmod 600 counter", "grep -c 1 counter", "echo x >> counter", "mkdir d", "rm counter"),
        *("n=$(cat counter)", "echo $n > counter", "[ -e counter ]", "[ -e d ]", "cd d", "true"),
    ]
)
JOINED = st.sampled_from(["; ", " && ", " || ", " | ", "\n"])


@settings(max_examples=40)
@given(st.lists(st.tuples(PIECES, JOINED), min_size=1, max_size=4))
def test_a_script_is_no_worse_than_its_level(world: OsWorld, pieces: list[tuple[str, str]]) -> None:
    """R0 changes nothing. R1 done twice leaves what doing it once leaves."""
    script = "".join(piece + join for piece, join in pieces).rstrip(" ;&|\n")
    level = level_of(script)
    if level not in (SideEffect.READ, SideEffect.IDEMPOTENT):
        return

    def run() -> Any:
        return world.execute("bash_action", {"script": script}, actor="agent", operation_id="x")

    first = world.reset("own-next-number")
    once = run()
    assert level is not SideEffect.READ or (once.changed, once.state) == ((), first)
    assert run().state == once.state
