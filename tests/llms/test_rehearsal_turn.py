"""The stand-in's script: places read from messages, errors drawn, corrections made."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hfr_bench.llms.rehearsal.script import Block, cut, judge
from hfr_bench.llms.rehearsal.turn import draws, slip, take
from hfr_bench.model.task import OracleStep, SealedTask


def steps(text):
    """`a:find u:toggle` as oracle steps; the n-th has the argument id=#W<n>0."""
    actors = {"a": "agent", "u": "user"}
    return tuple(
        OracleStep(actor=actors[word[0]], tool=word[2:], arguments={"id": f"#W{n}0"})
        for n, word in enumerate(text.split())
    )


def script(text="a:find a:pay u:toggle a:check", say=("327", "Tuesday")):
    return cut(SealedTask(task_id="t", suite="s", oracle=steps(text), say=say))


def fixed(**values):
    """Draws that are what a test says; everything else is right."""
    return lambda use: values.get(use, 0.0)


USER = {"role": "user", "content": "hi"}
WRONG = {"right": 0.99}


def called(step, tried=1, arguments=None, result="ok"):
    call_id = f"call_{step}_{tried}"
    given = json.dumps({"id": f"#W{step}0"} if arguments is None else arguments)
    function = {"name": "x", "arguments": given}
    return [
        {"role": "assistant", "tool_calls": [{"id": call_id, "function": function}]},
        {"role": "tool", "tool_call_id": call_id, "content": result},
    ]


RUNTIME = json.dumps({"error": {"type": "timeout"}})


@pytest.mark.parametrize(
    ("text", "blocks"),
    [
        ("", [Block()]),
        ("a:x", [Block((0,))]),
        ("a:x a:y u:z u:w a:v", [Block((0, 1), ("z", "w")), Block((4,))]),
        ("u:z a:x", [Block((), ("z",)), Block((1,))]),
        ("a:x u:z", [Block((0,), ("z",)), Block()]),
    ],
)
def test_a_solution_is_cut_where_the_user_acts(text, blocks):
    assert list(script(text).blocks) == blocks


@pytest.mark.parametrize(
    ("content", "outcome"),
    [
        ("ok", "good"),
        ("Error: order not found", "domain"),
        (RUNTIME, "runtime"),
        ('{"error": null}', "good"),
        ('{"error": "text"}', "good"),
        ("{broken", "good"),
        (None, "good"),
        ('{"id": 1}', "good"),
    ],
)
def test_results_are_judged_by_their_text(content, outcome):
    assert judge(content) == outcome


@pytest.mark.parametrize(
    ("messages", "step", "tried"),
    [
        ([USER], 0, 1),
        ([USER, *called(0)], 1, 1),
        ([USER, *called(0), *called(1), USER], 3, 1),
        ([USER, *called(0, result="Error: by design")], 1, 1),
        ([USER, *called(0, result=RUNTIME)], 0, 2),
        ([USER, *called(0, 1, result=RUNTIME), *called(0, 2, result=RUNTIME)], 0, 3),
        ([USER, *called(0, 3, result=RUNTIME)], 1, 1),
        ([USER, *called(0, 1, {"id": "#0W0"}, "Error: no such order")], 0, 2),
        ([USER, *called(0, 3, {"id": "#0W0"}, "Error: no such order")], 1, 1),
        ([USER, *called(0, 1, {"id": "#0W0"}, "accepted all the same")], 1, 1),
    ],
)
def test_where_the_stand_in_goes_on(messages, step, tried):
    turn = take(script(), messages, 0.9, fixed())
    assert (turn.step, turn.tried) == (step, tried)
    assert turn.arguments == {"id": f"#W{step}0"}


def test_a_lost_call_is_repeated_as_it_was_made():
    messages = [USER, *called(0, 1, {"id": "#0W0"}, RUNTIME)]
    turn = take(script(), messages, 0.9, fixed())
    assert (turn.step, turn.tried, turn.arguments) == (0, 2, {"id": "#0W0"})


def test_a_wrong_turn_after_a_lost_call_does_without_it():
    turn = take(script(), [USER, *called(0, result=RUNTIME)], 0.9, fixed(**WRONG))
    assert (turn.step, turn.tried, turn.arguments) == (1, 1, {"id": "#W10"})


def test_texts_end_blocks():
    turn = take(script(), [USER, *called(0), *called(1)], 0.9, fixed())
    assert turn.step is None
    assert turn.text == "Please do the following now: toggle"
    final = take(script(), [USER, USER, *called(3)], 0.9, fixed())
    assert final.text == "All done. 327 Tuesday"
    assert take(script(), [USER] * 5, 0.9, fixed()).text == final.text


def test_a_slip_is_in_one_argument():
    turn = take(script(), [USER], 0.9, fixed(**WRONG, error=0.1))
    assert turn.step == 0
    assert turn.arguments == {"id": "W#00"}


def test_a_skip_leaves_one_step_out():
    assert take(script(), [USER], 0.9, fixed(**WRONG, error=0.7)).step == 1
    last = take(script(), [USER, *called(0)], 0.9, fixed(**WRONG, error=0.7))
    assert last.text == "Please do the following now: toggle"


def test_an_early_end_is_the_blocks_text():
    assert take(script(), [USER], 0.9, fixed(**WRONG, error=0.9)).text.startswith("Please")


@pytest.mark.parametrize(("drawn", "left"), [(0.0, "Tuesday"), (0.9, "327")])
def test_a_wrong_final_text_drops_one_string(drawn, left):
    messages = [USER, USER, *called(3)]
    assert take(script(), messages, 0.9, fixed(**WRONG, lost=drawn)).text == f"All done. {left}"
    assert take(script(say=()), messages, 0.9, fixed(**WRONG)).text == "All done."


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=6,
)


@given(st.dictionaries(st.text(max_size=4), JSON, max_size=4), st.integers(0, 99))
def test_a_slip_changes_the_arguments_and_leaves_the_solution_alone(arguments, seed):
    before = json.dumps(arguments)
    wrong = slip(arguments, draws("s", "t", seed))
    assert json.dumps(arguments) == before
    assert wrong is None or wrong != arguments


def test_no_arguments_no_slip():
    assert slip({}, fixed()) is None
    assert slip({"flag": True, "empty": "", "none": None}, fixed()) is None
    assert slip({"n": [{"k": 41}]}, fixed()) == {"n": [{"k": 42}]}
    assert slip({"note": "a b", "id": "xx"}, fixed()) == {"note": "a b", "id": "xxx"}


COMPLAINT = {"role": "user", "content": "Tool call error: there is none."}


@pytest.mark.parametrize("after", [0, 1, 2])
def test_where_no_user_takes_part_a_complaint_of_the_program_moves_nothing(after):
    """A foreign agent tells its model in a user's message that the answer cannot be used."""
    lone = script("a:find a:pay a:check", say=())
    said = [USER, *(line for step in range(after) for line in called(step)), COMPLAINT]
    turn = take(lone, said, 1.0, fixed())
    assert (turn.step, turn.tool) == (after, ("find", "pay", "check")[after])
    served = cut(SealedTask(task_id="t", suite="s", opening="hi", oracle=steps("a:find")))
    assert take(served, [USER, COMPLAINT], 1.0, fixed()).step is None, "a user has spoken again"
