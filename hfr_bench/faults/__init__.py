"""Fault schedules, pure: drawn before the run, replayed, never sampled again."""
