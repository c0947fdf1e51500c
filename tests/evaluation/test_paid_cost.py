"""What was paid, in words: 0 only where it is 0."""

from dataclasses import replace

from affect.llm.call import Call
from evaluation.paid_cost import PaidCost

CALL = Call("predict", "endpoint", "segment", "5f", 1, 1, "usable", 10, 5, 0.02, 1.0, False)


def paid(*calls: Call) -> PaidCost:
    total = PaidCost()
    for call in calls:
        total.add(call)
    return total


def test_known_costs_add_up() -> None:
    assert paid(CALL, replace(CALL, cost=0.0)).summary() == "2 replies bought, cost 0.0200"
    assert paid(CALL).summary() == "1 reply bought, cost 0.0200"


def test_an_unknown_cost_is_never_0() -> None:
    unknown = replace(CALL, cost=None)
    assert paid(unknown).summary() == "1 reply bought, cost not known"
    assert paid(unknown, CALL).summary() == "2 replies bought, cost at least 0.0200"


def test_kept_replies_and_faults_are_not_bought() -> None:
    kept = replace(CALL, from_cache=True, cost=0.0)
    fault = replace(CALL, outcome="rate_limited", prompt_tokens=None, cost=None)
    filtered = replace(fault, outcome="refused")
    refused = replace(CALL, outcome="refused")
    total = paid(kept, fault, filtered)
    assert (total.summary(), total.text) == ("no reply bought", "0.0000")
    assert paid(refused, replace(CALL, outcome="cut_off")).num_replies == 2
