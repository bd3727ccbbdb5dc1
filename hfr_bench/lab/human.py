"""The modelled person who takes escalations and approves calls, at the registered price."""

from hfr_bench.model.ledger import EscalationPacket
from hfr_bench.model.prereg import HumanPrice
from hfr_bench.ports.human import Approval, Question


class PricedHuman:
    """The modelled person: takes what is escalated, at the registered price and delay.

    Asked to approve a call, she does, at the same price: what she would refuse is not modelled.
    """

    def __init__(self, price: HumanPrice) -> None:
        self._price = price

    def take(self, packet: EscalationPacket) -> tuple[int, int]:
        return round(self._price.cost_usd * 1_000_000), round(self._price.delay_s * 1_000_000)

    def review(self, question: Question) -> Approval:
        cost, delay = self._price.cost_usd, self._price.delay_s
        return Approval(True, round(cost * 1_000_000), round(delay * 1_000_000))
