"""What a command's replies have cost, in words that never say 0 for what is not known.

    paid = PaidCost()
    paid.add(call)                # of each call that `RoleModels` tells
    paid.summary()                # "12 replies bought, cost 0.0341"

The cost of a reply is known where the section gives both prices and the server counted its tokens.
"""

from dataclasses import dataclass

from affect.llm.call import Call

NOT_KNOWN = "not known"


@dataclass
class PaidCost:
    """cost: the sum of what is known, in the prices' currency."""

    num_replies: int = 0
    num_unknown: int = 0
    cost: float = 0.0

    def add(self, call: Call) -> None:
        """Count a call's reply, if it bought one: no kept reply, no try that failed."""
        if call.from_cache or not call.has_reply:
            return
        self.num_replies += 1
        if call.cost is None:
            self.num_unknown += 1
        else:
            self.cost += call.cost

    @property
    def text(self) -> str:
        """`0.0341`, `at least 0.0341`, or `not known`."""
        if self.num_unknown and self.num_unknown == self.num_replies:
            return NOT_KNOWN
        return f"at least {self.cost:.4f}" if self.num_unknown else f"{self.cost:.4f}"

    def summary(self) -> str:
        """For the end of a command."""
        if not self.num_replies:
            return "no reply bought"
        bought = f"{self.num_replies} {'reply' if self.num_replies == 1 else 'replies'} bought"
        return f"{bought}, cost {self.text}"
