"""How many trials run side by side."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from typing import Protocol, TypeVar

Scope = TypeVar("Scope")
Item = TypeVar("Item")
Answer = TypeVar("Answer")


class Executor(Protocol):
    """Runs `work(scope, item)` for all items; each worker opens, uses and closes its own scope."""

    def run(
        self,
        items: Iterable[Item],
        open_scope: Callable[[int], AbstractContextManager[Scope]],
        work: Callable[[Scope, Item], Answer],
        hurry: Callable[[], None] = lambda: None,
    ) -> Iterator[Answer]:
        """Yields answers as they come. An exception in `work` is raised here, after a stop.

        `hurry`: called once before waiting for workers whose work is no longer wanted (an error, an
        interrupt), to make what they wait for end. A caller that merely leaves waits for them.
        """
        ...
