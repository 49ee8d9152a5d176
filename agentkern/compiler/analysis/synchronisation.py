"""Check the synchronisation of a kernel's final stage, independently of how it was made.

Every function is run for every thread of a block at a few sizes (`synchronisation_sizes.py`), integers and control flow
only (`synchronisation_trace.py`); then threads that behave alike are run against each other with vector clocks
(`synchronisation_order.py`). Proved for those sizes, whatever the order of threads: every wait has its arrivals and
bytes, phases are not mistaken, accesses of shared memory are ordered across threads and proxies, registers of products
in flight are left alone, boxes begin where the copy engine takes them, everything is committed and waited for. Not
proved: other sizes, global memory, values, clusters, branches that depend on data (every thread is taken to follow
them). Changes nothing.
"""

from __future__ import annotations

from agentkern.compiler.analysis.synchronisation_budget import check_budgets, check_space
from agentkern.compiler.analysis.synchronisation_coordinates import check_coordinates
from agentkern.compiler.analysis.synchronisation_findings import Report, SyncFinding
from agentkern.compiler.analysis.synchronisation_groups import check_whole, find_groups
from agentkern.compiler.analysis.synchronisation_order import BlockRun
from agentkern.compiler.analysis.synchronisation_plan import Plan, is_event, plan_function
from agentkern.compiler.analysis.synchronisation_sizes import Case, choose_cases
from agentkern.compiler.analysis.synchronisation_trace import EVENT_LIMIT, Tracer
from agentkern.compiler.ir.core import Kernel, Op, walk

__all__ = ["SyncFinding", "check_synchronisation"]


def check_synchronisation(kernel: Kernel) -> tuple[SyncFinding, ...]:
    """Everything that may go wrong between the threads of a block of any function of a GPU-stage kernel."""
    report = Report(kernel)
    for function in kernel.body:
        if function.name == "function":
            _check_function(kernel, function, report)
    return tuple(report.found.values())


def _check_function(kernel: Kernel, function: Op, report: Report) -> None:
    plan = plan_function(function)
    if not any(is_event(op, plan.products) for op in walk(function.regions[0].ops)):
        return
    check_space(function, report)
    for case in choose_cases(kernel, plan):
        _check_case(kernel, plan, case, report)


def _check_case(kernel: Kernel, plan: Plan, case: Case, report: Report) -> None:
    report.sizes = {**case.sizes, "block": case.block}
    events = Tracer(kernel, plan, case.sizes, case.block).trace()
    if len(events) > EVENT_LIMIT:
        return  # cut short: says nothing
    threads = plan.function.attrs["threads"]
    assert isinstance(threads, int)
    check_whole(events, report)
    check_budgets(plan.function, events, report)
    check_coordinates(events, report)
    BlockRun(plan, events, find_groups(events, threads), report).run()
