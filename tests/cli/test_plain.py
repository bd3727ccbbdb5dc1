"""What a stranger's file says is shown, and not obeyed."""

from hfr_bench.cli.main import run
from hfr_bench.cli.plain import shown
from hfr_bench.testing.bundled import ready, replace, reseal


def test_commands_of_a_terminal_are_written_out():
    assert shown("fine, häää 12 µs") == "fine, häää 12 µs"
    assert shown("a\x1b[2K\rb\u202e\ud800\x9b") == "a\\x1b[2K\\rb\\u202e\\ud800\\x9b"


def test_a_bundle_cannot_draw_its_own_verdict(tmp_path, capsys):
    bundle = ready(tmp_path / "e", tasks=1).bundle(tmp_path / "b")
    replace(bundle / "bundle.json", '"name":"test"', '"name":"\\u001b[2J\\rVERIFIED"')
    reseal(bundle, chains=False)
    assert run(["verify", str(bundle), "--level", "0"]) == 0
    out = capsys.readouterr().out
    assert "\\x1b[2J\\rVERIFIED" in out
    assert "\x1b" not in out


def test_nor_can_an_error(tmp_path, capsys):
    bundle = ready(tmp_path / "e", tasks=1).bundle(tmp_path / "b")
    replace(bundle / "bundle.json", '"name":', '"\\u001b[2J":1,"name":')
    assert run(["verify", str(bundle), "--level", "0"]) == 2
    assert "\\x1b[2J: unknown key" in capsys.readouterr().err
