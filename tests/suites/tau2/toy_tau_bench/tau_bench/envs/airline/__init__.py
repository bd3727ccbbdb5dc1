"""A toy airline: three reservations, two tasks."""

import json
from pathlib import Path

from tau_bench.envs.airline import tools
from tau_bench.envs.base import Env
from tau_bench.types import Action, Task

HERE = Path(__file__).parent
TASKS = [
    Task(
        user_id="ann",
        instruction="You are Ann. Cancel R1 and ask for your total.",
        actions=[
            Action("get_reservation_details", {"reservation_id": "R1"}),
            Action("cancel_reservation", {"reservation_id": "R1"}),
            Action("transfer_to_human_agents", {"summary": "done"}),
        ],
        outputs=["30"],
    ),
    Task(
        user_id="bob",
        instruction="You are Bob. Put Cy on R2.",
        actions=[
            Action(
                "update_reservation_passengers",
                {
                    "reservation_id": "R2",
                    "passengers": [{"first_name": "Cy", "last_name": "Ho", "dob": "2000-01-01"}],
                },
            ),
        ],
    ),
]


def load_data():
    return json.loads((HERE / "data" / "all.json").read_text(encoding="utf-8"))


def make(index):
    return Env(load_data, tools.ALL_TOOLS, TASKS, "Be kind.", index)
