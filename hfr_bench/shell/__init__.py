"""Commands in a sandbox: a shell host inside, and its client here."""
