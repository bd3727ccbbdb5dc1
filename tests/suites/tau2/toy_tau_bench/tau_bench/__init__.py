"""Upstream imports its agents here, and with them every model; the host must not come by."""

raise SystemExit("never import me")
