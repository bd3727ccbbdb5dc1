"""The command line, a file a verb. Verbs are imported when they are called."""
