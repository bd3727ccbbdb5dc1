"""A task in the making: its world, what the customer says, the solution and the wanted end.

Every choice is a keyed draw of (generator version, seed, task, what for), so that a task is the
same on any machine and no choice shifts another.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from hfr_bench.faults.draw import uniform
from hfr_bench.model.task import OracleStep
from hfr_bench.suites.shopdesk.catalog import read_content

GENERATOR = "1"
"""Raise it whenever the same seed would give other tasks."""

CUSTOMERS = 6
FIRST = 1001  # the first number of every kind of row

Item = TypeVar("Item")
Row = dict[str, Any]
Tables = dict[str, list[Row]]


@dataclass(frozen=True, slots=True)
class Chance:
    """The draws of one task."""

    seed: str
    number: int

    def pick(self, items: Sequence[Item], *what: str | int) -> Item:
        """One of the items, all alike."""
        return items[int(self._draw(*what) * len(items))]

    def between(self, low: int, high: int, *what: str | int) -> int:
        """A whole number from low to high, both included."""
        return low + int(self._draw(*what) * (high - low + 1))

    def shuffled(self, items: Sequence[Item], *what: str | int) -> list[Item]:
        """The items in a drawn order."""
        keyed = [(self._draw(*what, n), n) for n in range(len(items))]
        return [items[n] for _, n in sorted(keyed)]

    def _draw(self, *what: str | int) -> float:
        return uniform("shopdesk", GENERATOR, self.seed, self.number, *what)


@dataclass(slots=True)
class Draft:
    """Filled wish by wish. `wanted`: see the host's checker. `groups`: of steps by index."""

    chance: Chance
    limit_cents: int
    tables: Tables = field(default_factory=dict)
    wishes: list[str] = field(default_factory=list)
    steps: list[OracleStep] = field(default_factory=list)
    groups: dict[int, str] = field(default_factory=dict)
    say: list[str] = field(default_factory=list)
    wanted: dict[str, Any] = field(default_factory=lambda: {"set": {}, "add": {}})
    customer: Row = field(default_factory=dict)
    _fresh: list[Any] = field(default_factory=list)

    # -- the world ---------------------------------------------------------------------------

    def add_row(self, table: str, prefix: str, **values: Any) -> Row:
        """A row with the next number."""
        rows = self.tables.setdefault(table, [])
        row = {"id": f"{prefix}-{FIRST + len(rows)}", **values}
        rows.append(row)
        return row

    def add_order(
        self, status: str, *, product: Row | None = None, quantity: int = 0, owner: str = ""
    ) -> Row:
        """An order of this task's customer, unless another one is named."""
        n = len(self.tables.get("orders", ()))
        product = product or self.chance.pick(self.tables["products"], "order", n, "product")
        quantity = quantity or self.chance.between(1, 3, "order", n, "quantity")
        reason = "no longer needed" if status == "cancelled" else None
        return self.add_row(
            "orders",
            "O",
            customer_id=owner or self.customer["id"],
            sku=product["sku"],
            quantity=quantity,
            total_cents=product["price_cents"] * quantity,
            status=status,
            shipping=self.chance.pick(("standard", "pickup"), "order", n, "shipping"),
            gift_wrap=self.chance.between(0, 1, "order", n, "gift"),
            cancel_reason=reason,
        )

    def fresh_product(self) -> Row:
        """A product that no other wish of this task orders."""
        if not self._fresh:
            self._fresh = self.chance.shuffled(self.tables["products"], "fresh")
        product: Row = self._fresh.pop()
        return product

    # -- the solution and the wanted end -----------------------------------------------------

    def does(self, tool: str, *, group: str = "", **arguments: Any) -> None:
        """A call of the agent's. `group`: it belongs to an atomic group."""
        if group:
            self.groups[len(self.steps)] = group
        self.steps.append(OracleStep(actor="agent", tool=tool, arguments=arguments))

    def looks(self, tool: str, **arguments: Any) -> None:
        """A read of the agent's; one that it has made already is not made again."""
        step = OracleStep(actor="agent", tool=tool, arguments=arguments)
        if step not in self.steps:
            self.steps.append(step)

    def hands_over(self, tool: str, **arguments: Any) -> None:
        """A call of the user's (here: the shift lead's), before the agent goes on."""
        self.steps.append(OracleStep(actor="user", tool=tool, arguments=arguments))

    def becomes(self, table: str, key: str, **values: Any) -> None:
        """A row of the world is to have these values in the end."""
        self.wanted["set"].setdefault(table, {}).setdefault(key, {}).update(values)

    def appears(self, table: str, **values: Any) -> None:
        """A new row is to be there in the end."""
        self.wanted["add"].setdefault(table, []).append(values)


def begin(chance: Chance) -> Draft:
    """A draft with its background: customers, products, policies, and other people's orders."""
    limit = chance.pick(read_content("suite")["refund_limit_cents"], "limit")
    draft = Draft(chance, limit)
    stock = read_content("stock")
    draft.tables["products"] = [
        {"sku": sku, "name": name, "price_cents": price, "available": 1}
        for sku, name, price in stock["products"]
    ]
    draft.tables["policies"] = [
        {"topic": topic, "text": text.format(limit=limit), "limit_cents": cents}
        for topic, text in read_content("policies")["topics"].items()
        for cents in [limit if topic == "refunds" else None]
    ]
    firsts = chance.shuffled(stock["first_names"], "first")[:CUSTOMERS]
    for n, first in enumerate(firsts):
        last = chance.pick(stock["last_names"], "last", n)
        draft.add_row(
            "customers",
            "C",
            name=f"{first} {last}",
            email=f"{first}.{last}@example.com".lower(),
            **address(chance, "home", n),
        )
    draft.customer = chance.pick(draft.tables["customers"], "customer")
    _background(draft)
    draft.looks("find_customer", email=draft.customer["email"])
    return draft


def address(chance: Chance, *what: str | int) -> dict[str, str]:
    """A drawn postal address; the house numbers of `home` are below those of other uses."""
    stock = read_content("stock")
    first = 1 if what[0] == "home" else 100
    street = chance.pick(stock["streets"], *what, "street")
    return {
        "street": f"{street} {chance.between(first, first + 98, *what, 'house')}",
        "city": chance.pick(stock["cities"], *what, "city"),
        "zip": str(chance.between(10000, 99999, *what, "zip")),
    }


def _background(draft: Draft) -> None:
    """One to three orders of everybody, some with a refund or a ticket."""
    chance = draft.chance
    states = ("delivered", "shipped", "placed", "cancelled")
    for n, owner in enumerate(draft.tables["customers"]):
        for i in range(chance.between(1, 3, "background", n)):
            status = chance.pick(states, "background", n, i)
            order = draft.add_order(status, owner=owner["id"])
            odd = chance.between(0, 3, "background", n, i, "odd")
            if odd == 0 and status == "delivered":
                amount = order["total_cents"] // 4
                draft.add_row("refunds", "R", order_id=order["id"], amount_cents=amount, reason="")
            if odd == 1:
                add_ticket(draft, owner["id"], order["id"], "question", "closed")


def add_ticket(draft: Draft, customer: str, order: str, topic: str, status: str) -> Row:
    """A ticket that is in the world from the start."""
    return draft.add_row(
        "tickets",
        "T",
        customer_id=customer,
        order_id=order,
        topic=topic,
        note="",
        status=status,
        resolution="answered" if status == "closed" else None,
    )
