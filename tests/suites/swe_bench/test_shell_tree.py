"""A script is taken apart into what bash would run, and what cannot be followed is said."""

import subprocess
import sys

import pytest

from hfr_bench.suites.swe_bench.shell_tree import Word, parse


def words(script):
    return [[word.text for word in command.words] for command in parse(script).commands]


@pytest.mark.parametrize(
    ("script", "found"),
    [
        ("cat a | grep b && rm c", [["cat", "a"], ["grep", "b"], ["rm", "c"]]),
        ("(cd x; rm y)", [["cd", "x"], ["rm", "y"]]),
        ('echo "$(rm x)" `ls`', [["rm", "x"], ["ls"], ["echo", None, None]]),
        ("diff <(sort a) b", [["sort", "a"], ["diff", None, "b"]]),
        ("A=$(rm x) ls", [["rm", "x"], ["ls"]]),
        ("echo ${x:-$(rm f)} $((1 + 2))", [["rm", "f"], ["echo", None, None]]),
        ("if [ -f a ]; then b; elif c; then d; else e; fi", [["b"], ["c"], ["d"], ["e"]]),
        ("for x in $(ls); do rm $x; done", [["ls"], ["rm", None]]),
        ("while a; do b; done < f", [["a"], ["b"], []]),
        ("case $x in a) rm f;; *) ls;; esac", [["rm", "f"], ["ls"]]),
        ("f() { rm x; }; f", [["rm", "x"], ["f"]]),
        ("! grep -q x y", [["grep", "-q", "x", "y"]]),
        ("r\"m\" '-'f \\x", [["rm", "-f", "x"]]),
        ("echo $'a\\nb' 'it'\"'\"'s' \"a\\\"b\"", [["echo", "a\nb", "it's", 'a"b']]),
        ("echo {a,b} ~/x $y", [["echo", None, None, None]]),
        ("ls \\\n -l # and no more", [["ls", "-l"]]),
        ("cat 2>err -x f", [["cat", "-x", "f"]]),
        ("cat - f; expr 1 == 2", [["cat", "-", "f"], ["expr", "1", "==", "2"]]),
        ("cat <<E | sh\n$(rm x)\nE", [["rm", "x"], ["sh"], ["cat"]]),
    ],
)
def test_commands(script, found):
    parsed = parse(script)
    assert parsed.understood
    assert sorted(words(script), key=str) == sorted(found, key=str)


def test_redirections():
    (command,) = parse("x < a > b 2>> c &> d >| e 2>&1 >&2").commands
    assert command.reads == (Word("a"),)
    assert command.writes == (Word("b"), Word("d"), Word("e"))
    assert command.appends == (Word("c"),)


def test_here_documents():
    plain, quoted, open_ = (
        parse(f"cat <<{mark}\nhello $x\nEOF\n").commands[0].stdin
        for mark in ("'EOF'", '"EOF"', "EOF")
    )
    assert plain == quoted == "hello $x\n"
    assert open_ is None, "what is expanded is not known"
    assert parse("cat <<EOF\nhello\nEOF").commands[0].stdin == "hello\n"
    assert parse("cat <<<'a b'").commands[0].stdin == "a b"


def test_statements_and_what_they_rest_on():
    found = parse("cat *.py; x=$(ls); echo $RANDOM; [ -f a ]; echo $?; export P=1\ng() { :; }")
    assert [command.statement for command in found.commands] == [0, 1, 2, 4, 6]
    assert found.looks == {0, 3}
    assert found.varies == {2}
    assert found.carries
    assert found.assigned == ["x", "P"]
    assert found.functions == {"g"}
    assert not parse("cat a; x=1").carries


@pytest.mark.parametrize(
    "script",
    [
        "echo 'unclosed",
        "if x; then",
        "a && ",
        "cat <<EOF\nnever ended",
        "exec 3<>f",
        "a\0b",
        ")",
        "cat - <<'E'\nx\nE\n",
    ],
)
def test_what_is_not_followed_is_said(script):
    assert not parse(script).understood


def test_without_the_parser_it_is_said_how_to_get_it():
    program = (
        "import sys; sys.modules['tree_sitter_bash'] = None\n"
        "import hfr_bench.suites.swe_bench.shell_tree\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert "takes the library tree_sitter_bash: pip install 'hfr-bench[swe-bench]'" in done.stderr


def test_the_rest_does_not_need_it():
    program = (
        "import sys\n"
        "from hfr_bench.suites.swe_bench import apply, checks, contexts, grade, load, recipes\n"
        "assert not {'tree_sitter', 'pyarrow', 'datasets', 'docker'} & set(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
