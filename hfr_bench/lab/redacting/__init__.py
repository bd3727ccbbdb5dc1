"""From an experiment to one that may be given away: what is taken out, and how it is told."""
