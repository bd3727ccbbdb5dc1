"""Verification of what a live model's tokens cost.

Level 1 holds the prices to the lock, level 3 the attempts to the prices. Where an answer was lost
or altered on the way, its tokens are in no trace; they are read from the recorded responses, if
the bundle has them.
"""

import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

from hfr_bench.lab.pricing import PRICES, prices_in
from hfr_bench.lab.register import TRIALS
from hfr_bench.lab.verification.bills import Bill, Place, Shown
from hfr_bench.lab.verification.files import Work, judge
from hfr_bench.model.bundle import Check
from hfr_bench.model.cassette import Taped
from hfr_bench.model.prereg import Lock, Preregistration
from hfr_bench.model.price import Price, charged, tokens
from hfr_bench.model.record import text_digest
from hfr_bench.model.terms import Origin
from hfr_bench.ports.tape import CASSETTES

_OK = 200

Prices = Mapping[str, Price | None]


def frozen_prices(work: Work, lock: Lock) -> Iterator[Check]:
    """Level 1; nothing for a bundle without prices.json, of which level 3 tells."""
    data = work.kept.get(PRICES)
    if data is None:
        return
    title = "the model prices are those of the lock"
    found, said = text_digest(data), lock.prices_digest
    wrong = [] if found == said else [f"{PRICES} has {found[:12]}, the lock {said[:12]}"]
    yield judge(1, title, wrong, found[:12])


def tokens_cost(work: Work, prereg: Preregistration) -> Iterator[Check]:
    """Level 3, of live models: each attempt costs what its price makes of its tokens."""
    if prereg.origin is not Origin.LIVE:
        return
    title, data = "a live model's tokens cost their price", work.kept.get(PRICES)
    count = sum(len(one.bills) for one in work.seen)
    if data is None:
        detail = f"no {PRICES}: what {count} attempts cost is the maker's word"
        yield Check(level=3, check=title, ok=None, detail=detail)
        return
    try:
        prices = prices_in(data)
    except ValueError as error:
        yield Check(level=3, check=title, ok=False, detail=f"{PRICES}: {error}")
        return
    wrong, unseen = [], 0
    for one in work.seen:
        lost = any(bill.shown is Shown.UNSEEN for bill in one.bills)
        taped = _taped(work, one.name) if lost else {}
        for bill in one.bills:
            told, known = _judged(bill, prices, taped)
            unseen += not known
            if told:
                wrong.append(f"{one.name}: {bill.at[0]} {bill.at[1]}.{bill.at[2]}: {told}")
    unknown = sum(price is None for price in prices.values())
    fine = f"{count} attempts, {len(prices)} models"
    fine += f", the price of {unknown} not known" if unknown else ""
    fine += f"; {unseen} with an answer that no file shows, on the maker's word" if unseen else ""
    yield judge(3, title, wrong, fine)


def _judged(
    bill: Bill, prices: Prices, taped: Mapping[Place, tuple[int, int] | None]
) -> tuple[str, bool]:
    """What is wrong with a bill ("" for nothing), and whether its cost could be worked out."""
    said = "null" if bill.cost_microusd is None else f"{bill.cost_microusd}"
    if bill.shown is Shown.FREE:
        due: int | None = 0
        why = "no answer that costs"
    elif bill.model not in prices:
        return f"{bill.model} has no row in {PRICES}", True
    elif bill.shown is Shown.SEEN:
        due, why = _due(prices[bill.model], tokens(*bill.tokens))
    elif bill.at in taped:
        due, why = _due(prices[bill.model], taped[bill.at])
    else:
        wrong = prices[bill.model] is None and bill.cost_microusd
        return (f"it cost {said}, and the price is not known" if wrong else ""), False
    if bill.cost_microusd == due:
        return "", True
    return f"it cost {said}, {why} make {'null' if due is None else due}", True


def _due(price: Price | None, said: tuple[int, int] | None) -> tuple[int | None, str]:
    why = "tokens that were not said" if said is None else f"{said[0]} and {said[1]} tokens"
    return charged(price, said), why


def _taped(work: Work, trace: str) -> dict[Place, tuple[int, int] | None]:
    """The tokens of a trial's recorded answers; nothing of what cannot be read.

    Level 0 holds a cassette to the digest that its trace ends with.
    """
    path = work.folder / f"{CASSETTES}{trace.removeprefix(TRIALS)}"
    found: dict[Place, tuple[int, int] | None] = {}
    for line in path.read_bytes().split(b"\n") if path.is_file() else ():
        with suppress(ValueError):
            one = Taped.loads(line)
            if one.response is not None and one.response.status == _OK:
                found[one.point, one.occurrence, one.attempt] = _usage(one.response.chunks)
    return found


def _usage(pieces: tuple[bytes, ...]) -> tuple[int, int] | None:
    """The tokens that a completion says it took. Raises ValueError for what is no JSON."""
    said: Any = json.loads(b"".join(pieces))
    usage = said.get("usage") if isinstance(said, dict) else None
    usage = usage if isinstance(usage, dict) else {}
    return tokens(usage.get("prompt_tokens"), usage.get("completion_tokens"))
