"""Reading XML that an agent may have written: no entities, no network."""

from typing import Any

from lxml import etree

MalformedError = etree.XMLSyntaxError


def parse(text: bytes) -> Any:
    """The root of a document. Raises MalformedError."""
    return etree.fromstring(text, etree.XMLParser(resolve_entities=False, no_network=True))
