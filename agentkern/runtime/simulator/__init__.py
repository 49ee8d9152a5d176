"""Run generated CUDA text on the CPU and check every access it makes.

`build` compiles a .cu text for the host; `SimulatorModule.launch` runs one of its kernels with threads as fibers and
returns a `SimulatorReport` with what went wrong: bounds, alignment, races, uninitialised reads, barriers, deadlocks.
Texts that use asynchronous instructions (TMA, mbarriers, wgmma, cp.async, clusters) are also held to their waits and
fences; `launch_both` compares the earliest legal completion of what is asynchronous with the latest.
`self_test` checks that this machine's compiler computes as the GPU does.
"""

from agentkern.runtime.simulator.module import LaunchError, SimulatorModule, build, kernel_names
from agentkern.runtime.simulator.records import (
    BarrierState,
    BlockOrder,
    Buffer,
    Checks,
    Completion,
    Finding,
    FindingKind,
    OtherAccess,
    SimulatorOptions,
    SimulatorReport,
    SimulatorStats,
    TableArgument,
    TensorMapArgument,
    ThreadOrder,
    WaitGroup,
)
from agentkern.runtime.simulator.selftest import SelfTestFailure, self_test
from agentkern.runtime.simulator.toolchain import (
    SimulatorBuildError,
    SimulatorUnavailableError,
    host_compiler,
)

__all__ = [
    "BarrierState",
    "BlockOrder",
    "Buffer",
    "Checks",
    "Completion",
    "Finding",
    "FindingKind",
    "LaunchError",
    "OtherAccess",
    "SelfTestFailure",
    "SimulatorBuildError",
    "SimulatorModule",
    "SimulatorOptions",
    "SimulatorReport",
    "SimulatorStats",
    "SimulatorUnavailableError",
    "TableArgument",
    "TensorMapArgument",
    "ThreadOrder",
    "WaitGroup",
    "build",
    "host_compiler",
    "kernel_names",
    "self_test",
]
