"""Sockets: Protocols of one to four methods. Plugs fill them; the lab uses them."""
