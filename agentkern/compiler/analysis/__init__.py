"""Facts about kernels: extents, index forms, accesses, liveness, effects. Never rewrites anything."""

from agentkern.compiler.analysis.accesses import Access, AxisIndex, KernelFacts, Scope, access_of, kernel_facts
from agentkern.compiler.analysis.effects import Effects, effects, may_alias, may_reload
from agentkern.compiler.analysis.extents import Facts, SymbolFact
from agentkern.compiler.analysis.index_forms import IndexForms, parameter_forms
from agentkern.compiler.analysis.intervals import IndexRange
from agentkern.compiler.analysis.liveness import last_uses, live_after, users

__all__ = [
    "Access",
    "AxisIndex",
    "Effects",
    "Facts",
    "IndexForms",
    "IndexRange",
    "KernelFacts",
    "Scope",
    "SymbolFact",
    "access_of",
    "effects",
    "kernel_facts",
    "last_uses",
    "live_after",
    "may_alias",
    "may_reload",
    "parameter_forms",
    "users",
]
