"""Takes secrets and personal data out of text before it is written or sent anywhere.

Traces hold digests instead of texts; what is left are reasons, evidence and names, which may quote
a provider or a tool. What `scan` finds in a bundle is taken out here beforehand (a test ties the
two); here the patterns are wider, since a needless mark costs nothing.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from hfr_bench.lab.folding import CORE_MIN
from hfr_bench.lab.scan import Loose, secrets

# Order matters: what holds another pattern in it comes first.
_PATTERNS: tuple[tuple[str, re.Pattern[str]], ...] = (
    (
        "private key",
        re.compile(
            r"-----BEGIN [A-Z ]*PRIVATE KEY(?: BLOCK)?-----"
            r".*?(?:-----END [A-Z ]*PRIVATE KEY(?: BLOCK)?-----|\Z)",
            re.S,
        ),
    ),
    ("token", re.compile(r"eyJ[\w-]{8,}\.e(?:yJ|30)[\w-]*(?:\.[\w-]*)?")),
    ("token", re.compile(r"(?i)\b(?:bearer|basic)\s+[\w~+/.=-]{8,}")),
    (
        "token",
        re.compile(
            r"(?:gh[pousr]_|github_pat_|glpat-|xox[abeoprs]-|hf_|gsk_|npm_|pypi-)[\w-]{8,}"
            r"|(?<![A-Za-z0-9])A[KS]IA[A-Z0-9]{12,}|AIza[\w-]{30,}"
            r"|(?<![A-Za-z0-9])(?:xai-[\w-]{20,}|SG\.[\w-]{8,}\.[\w-]{8,})"
            r"|hooks\.slack\.com/services/[\w/-]+"
        ),
    ),
    ("key", re.compile(r"(?<![A-Za-z0-9])[srp]k[-_][\w-]{12,}")),
    (
        "secret",
        re.compile(
            r"(?i)(?:(?:api|access|account|private)[-_ ]?key|secret|token|passw(?:or)?d|passphrase"
            r"|authorization)[\"'\\]*\s*[:=]\s*"
            r"(?:\"[^\"\n]{4,}(?=\")|'[^'\n]{4,}(?=')|[\"'\\]*[^\s\"',;&]{4,})"
        ),
    ),
    ("secret", re.compile(r"(?<=://)[^\s/@:\"'<>\\]*:[^\s/@\"'<>\\]+(?=@)")),
    ("e-mail", re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+")),
)
# Digits of a payment card, together or in groups; the check digit decides.
_CARD = re.compile(r"(?<![\w.])\d(?:[ -]?\d){12,18}(?![\w.])")


class Exact:
    """Takes the secrets of an environment out of text: each form, and other layouts of them."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        forms = {form.decode(errors="surrogateescape") for _, fs in secrets(environ) for form in fs}
        self._forms = sorted(forms, key=len, reverse=True)  # what holds another comes first
        self._loose = Loose(environ) if forms else None

    def text(self, text: str) -> str:
        """The text without them; a text that holds one in pieces goes as a whole."""
        for form in self._forms:
            text = text.replace(form, "[secret]")
        if self._loose and len(text) >= CORE_MIN and self._loose.holds(text):
            return "[secret]"
        return text


class Redactor:
    """Replaces what looks like a secret or a person's data by `[what it was]`.

    `environ`: also the values of names like OPENAI_API_KEY, wherever and in whatever form they
    occur (`lab.scan`, `lab.folding`).
    """

    def __init__(self, environ: Mapping[str, str] | None = None) -> None:
        self._exact = Exact(environ or {})

    def text(self, text: str) -> str:
        """The text without them; text that holds none comes back as it is."""
        text = self._exact.text(text)
        for word, pattern in _PATTERNS:
            text = pattern.sub(f"[{word}]", text)
        return _CARD.sub(_card, text)

    def value(self, value: Any) -> Any:
        """A JSON value with every string in it redacted, keys left alone; tuples become lists."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, Mapping):
            return {key: self.value(inner) for key, inner in value.items()}
        if isinstance(value, Sequence) and not isinstance(value, bytes):
            return [self.value(inner) for inner in value]
        return value


def _card(match: re.Match[str]) -> str:
    """Luhn: every second digit from the right doubled; the sum of digits ends in 0."""
    digits = [int(char) for char in match.group() if char.isdigit()]
    doubled = [d if n % 2 == 0 else sum(divmod(2 * d, 10)) for n, d in enumerate(digits[::-1])]
    return "[card number]" if sum(doubled) % 10 == 0 and any(digits) else match.group()
