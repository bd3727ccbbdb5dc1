"""The key with which an owner can show later what a redacted value was."""

import secrets
from pathlib import Path

from hfr_bench.errors import BadInputError

KEY = "redaction.key"
"""The owner's key, beside the experiment; no bundle has a place for it."""

_KEY_BYTES = 32


def owners_key(path: Path) -> bytes:
    """The owner's key, hexadecimal in a file; made there, for the owner's eyes, if it is not.

    Raises BadInputError for a file that holds no such key.
    """
    if not path.exists():
        path.touch(mode=0o600)
        path.write_text(secrets.token_hex(_KEY_BYTES) + "\n")
    try:
        found = bytes.fromhex(path.read_text("ascii"))
    except ValueError as error:
        raise BadInputError(f"{path}: is no key: hexadecimal digits are expected") from error
    if len(found) < _KEY_BYTES // 2:
        raise BadInputError(f"{path}: is no key: it has {len(found)} bytes, at least 16 are needed")
    return found
