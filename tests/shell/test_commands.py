"""The lists of commands that suites share."""

from hfr_bench.shell.commands import irreversible, readers, table


def test_a_command_stands_in_one_list_alone() -> None:
    kinds = ("says", "names", "looks", "varies", "names_unless", "looks_unless", "operands")
    every = [name for kind in kinds for name in table()[kind]]
    every += [*table()["leaves"], *table()["destroys"], *table()["runs_others"]]
    assert sorted(every) == sorted(set(every))


def test_what_only_reads_is_told_from_what_is_never_repeated() -> None:
    assert {"cat", "echo", "ls", "grep", "wc"} <= readers()
    assert {"ssh", "mkfs"} <= irreversible()
    assert not readers() & irreversible()
    assert not readers() & {"rm", "sort", "find", "sed", "touch"}  # they may write
