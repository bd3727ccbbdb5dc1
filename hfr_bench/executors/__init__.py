"""How many trials run side by side."""
