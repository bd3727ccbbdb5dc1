"""OSWorld: tasks on a desktop, which is reached by the HTTP API of the server in its guest."""
