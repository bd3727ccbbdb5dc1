"""A toy shop: one order, one task that only reads."""

import json

from tau_bench.envs.base import Env, info
from tau_bench.types import Action, Task

TASKS = [
    Task("ann", "You are Ann. Where is O1?", [Action("get_order_details", {"order_id": "O1"})])
]


class GetOrderDetails:
    @staticmethod
    def invoke(data, order_id):
        return json.dumps(data["orders"][order_id])

    @staticmethod
    def get_info():
        return info("get_order_details", order_id="string")


def make(index):
    return Env(
        lambda: {"orders": {"O1": {"status": "pending"}}}, [GetOrderDetails], TASKS, "Sell.", index
    )
