"""Numbers, pure: metrics, the paired bootstrap, exact intervals, estimates."""
