"""A script cut into words, quotes obeyed, or not at all."""

import pytest

from hfr_bench.suites.agentbench.os_interaction.words import UnreadableError, words


@pytest.mark.parametrize(
    ("script", "found"),
    [
        ("a  b\t'c d' # e's\nf", ["a", "b", "'c d'", "\n", "f"]),
        ("a>b 2>&1>>c&&d|e", ["a", ">", "b", "2", ">&", "1", ">>", "c", "&&", "d", "|", "e"]),
        ("echo a' '; rm b", ["echo", "a' '", ";", "rm", "b"]),
        (r'a "b\"c" d\;e \\', ["a", r'"b\"c"', r"d\;e", r"\\"]),
        ("a#b \\\n c", ["a#b", "c"]),
        ('x="$(pwd)"', ["x=$", "(", "pwd", ")"]),
        ("echo $((n + 1))", ["echo", "$_"]),
        ("((n++))", ["true"]),
        ("", []),
    ],
)
def test_words(script: str, found: list[str]) -> None:
    assert words(script) == found


@pytest.mark.parametrize(
    "script", ["'a", 'a "b', "a <<E", "`a`", "a $'b'", 'echo "a $(b)"', 'echo "a `b`"']
)
def test_what_words_do_not_tell_is_refused(script: str) -> None:
    with pytest.raises(UnreadableError):
        words(script)
