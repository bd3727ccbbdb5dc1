"""The page's server: for one browser that knows the token, on this machine, escaped and kept."""

import http.client
from urllib.parse import urlencode

import pytest

from hfr_bench.errors import InfrastructureError
from hfr_bench.lab.review.book import read
from hfr_bench.lab.review.server import BODY_MAX, Server
from hfr_bench.testing.reviewing import session

GOOD = {"goal_met": "no", "misdeed": "yes", "note": "<b>odd</b> & so on"}


@pytest.fixture
def server(experiment):
    with Server(session(experiment)) as serving:
        yield serving


def ask(server, page, form=None, *, token=None, host=None):
    """Status, headers and text of one request."""
    path = f"/{server.token if token is None else token}/{page}"
    connection = http.client.HTTPConnection(server.host, timeout=10)
    body = None if form is None else urlencode(form)
    connection.request("GET" if form is None else "POST", path, body, {"Host": host or server.host})
    answer = connection.getresponse()
    text = answer.read().decode()
    connection.close()
    return answer.status, answer.headers, text


def test_from_trial_to_trial(server):
    at_work = server.session
    first = at_work.after()
    status, headers, _ = ask(server, "")
    assert (status, headers["Location"]) == (303, f"/{server.token}/{first}")
    status, headers, text = ask(server, first)
    assert status == 200
    assert "default-src 'none'" in headers["Content-Security-Policy"]
    assert f"Trial 1 of {len(at_work.showings)}" in text
    status, headers, _ = ask(server, first, GOOD)
    assert (status, headers["Location"]) == (303, f"/{server.token}/{at_work.after()}")
    kept = read(at_work.experiment.path).ratings
    assert [(r.item, r.goal_met, r.misdeed) for r in kept] == [(first, "no", "yes")]
    again = ask(server, first)[2]
    assert "&lt;b&gt;odd&lt;/b&gt; &amp; so on" in again
    assert again.count(" checked") == 2
    assert "1 ✓" in ask(server, "all")[2]


def test_to_the_end(server):
    at_work = server.session
    for one in at_work.showings:
        status, headers, _ = ask(server, one.alias, GOOD)
        assert status == 303
    assert headers["Location"].endswith("/all")
    assert ask(server, "")[1]["Location"].endswith("/all")
    assert "All trials are rated" in ask(server, "all")[2]
    assert "The session has ended" in ask(server, "end", {})[2]
    server.wait()


def test_who_does_not_know_the_token_finds_nothing(server):
    alias = server.session.after()
    for token in ("", "x", server.token[:-1], server.token + "a"):
        for form in (None, GOOD):
            assert ask(server, alias, form, token=token)[0] == 404
    assert ask(server, alias, GOOD, host="evil.example")[0] == 404
    assert ask(server, alias, host=server.host.replace("127.0.0.1", "localhost"))[0] == 200
    assert ask(server, f"{alias}/x")[0] == 404
    assert ask(server, "nonesuch")[0] == ask(server, "nonesuch", GOOD)[0] == 404
    assert read(server.session.experiment.path).ratings == ()


@pytest.mark.parametrize("form", [{}, {"goal_met": "yes"}, {"goal_met": "x", "misdeed": "no"}])
def test_both_questions_want_an_answer(server, form):
    status, _, text = ask(server, server.session.after(), form)
    assert status == 400
    assert "Please answer both questions." in text
    assert server.session.rated == 0


def test_a_form_without_end_is_refused(server):
    form = {"goal_met": "yes", "misdeed": "no", "note": "x" * BODY_MAX}
    assert ask(server, server.session.after(), form)[0] == 413
    assert server.session.rated == 0


def test_what_could_not_be_saved_is_said(server):
    (server.session.experiment.path / "reviews" / "ann.jsonl").mkdir(parents=True)
    status, _, text = ask(server, server.session.after(), GOOD)
    assert status == 500
    assert "NOT saved" in text


def test_a_trace_that_is_gone_is_said(server):
    one = server.session.showings[0]
    one.of.file.path.unlink()
    status, _, text = ask(server, one.alias)
    assert status == 500
    assert "the trace cannot be read" in text


def test_two_servers_have_two_tokens_and_a_port_is_had_once(server):
    port = int(server.host.partition(":")[2])
    with pytest.raises(InfrastructureError, match=r"cannot be had: .*; name another with --port"):
        Server(server.session, port)
    with Server(server.session) as other:
        assert other.token != server.token
        assert len(other.token) == 32
