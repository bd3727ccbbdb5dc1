"""Bodies taken apart: what was put into a form comes out of it, whatever it is."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hfr_bench.suites.osworld.client import _body
from hfr_bench.suites.osworld.guest.wire import OPERATION, ApiError, Request


def request(headers: dict[str, str], body: bytes) -> Request:
    return Request.of("POST", "/x", list(headers.items()), body)


@given(st.binary(max_size=400), st.text(max_size=40))
def test_a_file_and_its_path_come_out_of_a_form_as_they_went_in(data, path):
    found = request(*_body(None, {"file_path": path}, {"file_data": data})).form()
    assert found == {"file_path": path.encode(), "file_data": data}


@given(st.dictionaries(st.text(min_size=1, max_size=9), st.text(max_size=20), max_size=4))
def test_so_do_the_fields_of_a_plain_form(fields):
    found = request(*_body(None, fields, None)).form()
    assert found == {name: value.encode() for name, value in fields.items()}


def test_what_looks_like_a_boundary_within_a_file_is_none():
    data = b"\r\n--b\r\nContent-Disposition: form-data; name=x\r\n\r\n--b--\r\n"
    headers, body = _body(None, {"file_path": "a"}, {"file_data": data})
    assert request(headers, body).form()["file_data"] == data


def test_an_operation_is_named_by_a_header_or_in_the_body():
    named = {"Content-Type": "application/json"}
    body = json.dumps({"operation_id": "two"}).encode()
    assert request(named, body).operation() == "two"
    assert request({**named, OPERATION: "one"}, body).operation() == "one"
    assert request({}, body).operation() == ""
    assert request(named, b"[]").operation() == ""


@pytest.mark.parametrize("body", [b"", b"[1]", b"{", b"\xff"])
def test_a_body_that_is_no_object_is_refused(body):
    with pytest.raises(ApiError) as refused:
        request({}, body).json()
    assert refused.value.response.status == 400


def test_a_path_is_decoded_and_has_no_query():
    assert Request.of("GET", "/hfr/operations/a%2Fb?x=1", [], b"").path == "/hfr/operations/a/b"
