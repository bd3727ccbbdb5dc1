"""The owner's key of a redacted bundle."""

import pytest

from hfr_bench.errors import BadInputError
from hfr_bench.lab.redacting.keys import owners_key


def test_the_owners_key(tmp_path):
    path = tmp_path / "k"
    made = owners_key(path)
    assert (len(made), path.stat().st_mode & 0o077) == (32, 0)
    assert owners_key(path) == made
    for text in ("no key", "abcd"):
        path.write_text(text)
        with pytest.raises(BadInputError, match="is no key"):
            owners_key(path)
