"""A program that the guest runs: opens tabs in the browser that lets itself be driven there."""

OPEN_TABS = '''
import json, sys, time, urllib.error, urllib.parse, urllib.request

urls = json.loads(sys.argv[1])
ports = [int(port) for port in sys.argv[2:]] or [9222, 1337]


def ask(port, method, path):
    request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", method=method)
    with urllib.request.urlopen(request, timeout=5) as answer:
        return answer.read().decode()


def living():
    """(port, tabs) of the browser, which may still be starting."""
    for _ in range(60):
        for port in ports:
            try:
                found = json.loads(ask(port, "GET", "/json"))
                return port, [tab["id"] for tab in found if tab.get("type") == "page"]
            except (OSError, ValueError):
                pass
        time.sleep(0.5)
    sys.exit(f"no browser answers on port {' or '.join(map(str, ports))}")


port, before = living()
for url in urls:
    ask(port, "PUT", "/json/new?" + urllib.parse.quote(url, safe=":/?#[]@!$&'()*+,;=%"))
for tab in before[:1] if urls else []:
    ask(port, "GET", "/json/close/" + tab)
'''
"""Arguments: a JSON list of URLs, and ports (else 9222, which tasks forward, and 1337).

The first tab that was there is closed, as upstream does; a page's loading is not waited for.
"""
