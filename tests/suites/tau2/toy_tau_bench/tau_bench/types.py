"""Tasks and calls."""

from dataclasses import asdict, dataclass, field


@dataclass
class Action:
    name: str
    kwargs: dict


@dataclass
class Task:
    user_id: str
    instruction: str
    actions: list[Action]
    outputs: list[str] = field(default_factory=list)

    def model_dump(self):
        return asdict(self)


@dataclass
class Verdict:
    reward: float
    info: object


@dataclass
class OutputInfo:
    r_outputs: float
