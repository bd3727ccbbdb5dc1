"""Observation points (paper table 16, §6.6.2), each a function of a trace and of one met attempt.

True, False, or None where it cannot be told: nobody tried again, so nothing says whether they would
have waited. None of them reads what a strategy says of itself where what it did can be seen.
"""

from hfr_bench.faults.audit import Meeting
from hfr_bench.faults.trail import AGENT, RISKY, WRITES, Trail, going, same_request
from hfr_bench.model.task import OPEN
from hfr_bench.model.terms import Action, Channel, Landed, SideEffect

Held = bool | None

_DEGRADES = (Action.DEGRADE_MODEL, Action.DEGRADE_TOOL, Action.DEGRADE_SCOPE)


# -- after an error answer -------------------------------------------------------------------------


def waits_at_least_retry_after(trail: Trail, met: Meeting) -> Held:
    """The next attempt at the same target does not go out before the stated wait is over."""
    stated, again_us = trail.seen(met).retry_after, trail.at_the_same(met)
    if again_us is None or stated is None or not stated.isdecimal():
        return None
    return again_us - trail.ended_us(met) >= int(stated) * 1_000_000


def backs_off(trail: Trail, met: Meeting) -> Held:
    """The next attempt at the same target does not go out at once."""
    again_us = trail.at_the_same(met)
    return None if again_us is None else again_us > trail.ended_us(met)


def charges_the_retry(trail: Trail, met: Meeting) -> Held:
    """A decision to send again takes a retry from the budget."""
    charged = False
    for event in trail.step_after(met):
        if event.body.type == "decided":
            charged = charged or event.body.debit > 0
            if event.body.action in _DEGRADES:
                return None  # another target has attempts of its own
        elif going(event, trail.sent(met).purpose):
            return charged
    return None


def goes_to_another_target(trail: Trail, met: Meeting) -> Held:
    """The step ends up at another target, or handed over: it does not stay with a dead one."""
    sent = trail.sent(met)
    for event in trail.step_after(met):
        out = going(event, sent.purpose)
        if out is not None and out.target != sent.target:
            return True
    ending = trail.ending(met)
    return None if ending is None else ending in (Action.ESCALATE, Action.REPLAN, *_DEGRADES)


def goes_elsewhere_or_waits(trail: Trail, met: Meeting) -> Held:
    """The next attempt goes to another target, or not at once."""
    again = trail.again(met)
    if again is None:
        return None
    return again[0].target != trail.sent(met).target or again[1] > trail.ended_us(met)


def no_more_attempts_of_this_call(trail: Trail, met: Meeting) -> Held:
    """The same request does not go out to the same target again, in this step or a later one."""
    sent = trail.sent(met)
    outs = (going(event, sent.purpose) for event in trail.after(met))
    return not any(out is not None and same_request(out, sent) for out in outs)


def no_identical_resend(trail: Trail, met: Meeting) -> Held:
    """The step does not send the same request to the same target again."""
    sent = trail.sent(met)
    outs = (going(event, sent.purpose) for event in trail.step_after(met))
    return not any(out is not None and same_request(out, sent) for out in outs)


def asks_once_more(trail: Trail, met: Meeting) -> Held:
    """The step is not given up after this attempt alone."""
    if trail.again(met) is not None:
        return True
    return None if trail.ending(met) is None else False


def compresses_the_context(trail: Trail, met: Meeting) -> Held:
    """The next attempt is one with a shorter context."""
    for event in trail.step_after(met):
        if event.body.type == "decided" and event.body.action == Action.COMPRESS:
            return True
        if going(event):
            return False
    return None if trail.ending(met) is None else False


def does_not_take_the_failure_for_done(trail: Trail, met: Meeting) -> Held:
    """The step is not accepted without a later answer, or the world's word that it landed."""
    for event in trail.step_after(met):
        body = event.body
        if body.type == "attempt_ended" and body.answered:
            return True
        if body.type == "step_ended":
            return bool(body.action != Action.ACCEPT)
    return True


# -- after an unknown outcome ----------------------------------------------------------------------


def no_resend_before_reconcile(trail: Trail, met: Meeting) -> Held:
    """A write that may have landed is sent again only on the world's word that it did not.

    Under an idempotency key as well: whether the tool keeps it cannot be seen. Writes whose repeat
    leaves the same state (R1) may go out again: not told.
    """
    return _resends(trail, met, asked=1)


def no_resend_on_one_absent(trail: Trail, met: Meeting) -> Held:
    """The word of a single read that a write is not there is not enough to send it again.

    Nobody who asks once can know; the predicate tells how arms differ in asking twice.
    """
    return _resends(trail, met, asked=2)


def happens_once(trail: Trail, met: Meeting) -> Held:
    """The write's effect is in the world no more often than the task wants it.

    Whatever made it happen twice: of several faults in a trial it fails them all.
    """
    write = trail.write(met)
    if write is None or write.level == SideEffect.IDEMPOTENT:
        return None
    outs = [out for event in trail.events if (out := going(event)) is not None]
    mine = {out.operation_id for out in outs if out.stepless_key == write.stepless_key}
    ran = [event.body for event in trail.events if event.body.type == "effect"]
    keys = {one.natural_key for one in ran if one.operation_id in mine}
    for key in keys:
        done = sum(
            bool(one.changed) or (one.level == SideEffect.IRREVERSIBLE and not one.domain_error)
            for one in ran
            if one.natural_key == key and one.actor != "user"
        )
        if done > max(1, trail.expected.get(key, 0)):
            return False
    return True


def escalates_with_the_unknown_listed(trail: Trail, met: Meeting) -> Held:
    """Where a person is called, the write is on her list, as committed or as unknown.

    A write that nobody can look for (R3) must end in a call. Once the world said that it is not
    there it need not be listed.
    """
    write, absent = trail.write(met), False
    if write is None:
        return None
    for event in trail.after(met):
        if event.body.type == "reconciled":
            absent = event.body.landed == Landed.ABSENT
        elif event.body.type == "escalated":
            packet = event.body.packet
            listed = write.stepless_key in (*packet.committed, *packet.unknown)
            return None if absent and not listed else listed
    return False if write.level == SideEffect.IRREVERSIBLE else None


def replays_the_ledger_first(trail: Trail, met: Meeting) -> Held:
    """Back from a crash, the first thing decided is about what the ledger knows."""
    for event in trail.after(met):
        if event.body.type == "decided":
            return event.body.on == "Restored"
    return None


def fails_closed(trail: Trail, met: Meeting) -> Held:
    """Without its ledger no write goes out after this."""
    outs = (going(event) for event in trail.after(met))
    return not any(out is not None and out.level in RISKY for out in outs)


# -- after a wrong answer that looks right ---------------------------------------------------------


def verifies_before_accepting(trail: Trail, met: Meeting) -> Held:
    """A check looks at the answer before the step ends."""
    for event in trail.step_after(met):
        if event.body.type == "verified":
            return True
        if event.body.type == "step_ended":
            return False
    return None


def does_not_accept_the_wrong_answer(trail: Trail, met: Meeting) -> Held:
    """The step does not end accepted with this answer."""
    for event in trail.step_after(met):
        body = event.body
        if body.type == "step_ended":
            wrong = body.result_digest == trail.seen(met).response_digest
            return not (wrong and body.action == Action.ACCEPT)
    return True


def looks_again_before_writing(trail: Trail, met: Meeting) -> Held:
    """Before the agent's next write, the same is read again, or a check looks at the world."""
    sent = trail.sent(met)
    for event in trail.after(met):
        body = event.body
        if body.type == "attempt_started" and body.channel == Channel.TOOL:
            if body.purpose != AGENT or same_request(body, sent):
                return True
            if body.level in WRITES:
                return False
    return None


def does_not_follow_the_instruction(trail: Trail, met: Meeting) -> Held:
    """Nothing that the task does not want happens to the world after it was read."""
    if OPEN in trail.expected:  # nobody wrote down all that it wants
        return None
    for event in trail.after(met):
        body = event.body
        if body.type != "effect" or body.actor != AGENT or body.level not in WRITES:
            continue
        if body.changed and body.natural_key not in trail.expected:
            return False
    return True


def _resends(trail: Trail, met: Meeting, asked: int) -> Held:
    """Whether the write waits for so many answers that it is not there before it goes out again."""
    write = trail.write(met)
    if write is None or write.level not in RISKY:
        return None
    absent = 0
    for event in trail.after(met):
        body = event.body
        if body.type == "reconciled":
            if body.landed == Landed.ABSENT:
                absent += 1
            elif body.landed == Landed.COMMITTED:
                return True
        elif (out := going(event)) and out.stepless_key == write.stepless_key:
            return absent >= asked
    return True
