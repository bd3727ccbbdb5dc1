"""Text of strangers, for a terminal."""


def shown(line: str) -> str:
    """A line that a terminal shows and does not obey: a stranger's words may hold its commands."""
    return "".join(
        sign if sign.isprintable() else sign.encode("unicode_escape").decode() for sign in line
    )
