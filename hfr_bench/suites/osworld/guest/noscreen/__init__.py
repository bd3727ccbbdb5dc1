"""Stand-ins for modules of a screen, on the path of commands where there is none."""
