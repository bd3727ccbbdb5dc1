"""Model services and the thin client that calls them. Each a plug of its own."""
