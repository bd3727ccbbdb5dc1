"""From a bundle to the folder that a dataset's home on the web is made of."""
