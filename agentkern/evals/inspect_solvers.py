"""The three ways in which a sample goes, as solvers: one answer, answers with plain feedback, an agent with tools."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from contextvars import ContextVar
from typing import Any

import anyio
from inspect_ai.agent import AgentPrompt, AgentState, as_solver, react
from inspect_ai.model import ChatMessageSystem, ChatMessageUser
from inspect_ai.solver import Generate, Solver, TaskState, solver
from inspect_ai.tool import Tool, ToolDef, ToolError, ToolParam, ToolParams, mcp_connection, mcp_server_stdio
from inspect_ai.util import LimitExceededError

from agentkern.evals.arms import Arm
from agentkern.evals.feedback import NO_BLOCK, as_told, plain_text
from agentkern.evals.inspect_records import text_of
from agentkern.evals.prompts import GO_ON, answer_of, skill_files, skill_folder, system_text
from agentkern.evals.run_model import Job
from agentkern.evals.station import Station, block_submission
from agentkern.runtime.worker import worker_environment

JOB = "agentkern"
"""The key of a sample's metadata under which its job's id stands."""
CURRENT: ContextVar[Job] = ContextVar("agentkern_job")
"""The job of the sample that is run, for scripted models."""
PATIENCE = 2
"""How often an agent that hands nothing in, or answers without a block, is told so before its sample ends."""
TOOL_CALLS = "tool_calls"
_SKILL_TOOL = "read_skill"


def solver_of(arm: Arm, station: Station, jobs: Mapping[str, Job]) -> Solver:
    """Return the solver of an arm over its jobs by id."""
    return {"zero_shot": one_answer, "plain_loop": answers, "mcp": with_tools}[arm.feedback](station, jobs)


def _begin(state: TaskState, station: Station, jobs: Mapping[str, Job]) -> Job:
    job = jobs[state.metadata[JOB]]
    CURRENT.set(job)
    station.begin(job)
    return job


@solver
def one_answer(station: Station, jobs: Mapping[str, Job]) -> Solver:
    """Return the solver of zero-shot arms: one generation, the answer in its last block."""

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        job = _begin(state, station, jobs)
        state.messages.insert(0, ChatMessageSystem(content=system_text(job.arm)))
        state = await generate(state)
        source = answer_of(state.output.completion, job.arm.language)
        if source is not None:
            station.add(job, block_submission(job, source, number=1, at_call=0, tokens=state.token_usage))
        return state

    return solve


@solver
def answers(station: Station, jobs: Mapping[str, Job]) -> Solver:
    """Return the solver of plain loops: each block is compiled and run, and its writer told what came of it."""

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        job = _begin(state, station, jobs)
        limit = station.request.limits.tool_calls
        state.messages.insert(0, ChatMessageSystem(content=system_text(job.arm)))
        rounds = silences = 0
        while True:
            state = await generate(state)
            source = answer_of(state.output.completion, job.arm.language)
            if source is None:
                silences += 1
                if rounds or silences > PATIENCE:
                    return state
                state.messages.append(ChatMessageUser(content=NO_BLOCK))
                continue
            if limit is not None and rounds >= limit:
                raise LimitExceededError("custom", value=rounds + 1, limit=limit, message=TOOL_CALLS)
            handed_in = block_submission(job, source, number=rounds + 1, at_call=rounds, tokens=state.token_usage)
            station.add(job, handed_in)
            judgement = await anyio.to_thread.run_sync(
                station.judges.judge, job.task, handed_in, job.arm.language, abandon_on_cancel=True
            )
            station.add(job, handed_in.model_copy(update={"judgement": judgement}))
            state.messages.append(ChatMessageUser(content=plain_text(judgement)))
            rounds += 1

    return solve


@solver
def with_tools(station: Station, jobs: Mapping[str, Job]) -> Solver:
    """Return the solver of arms with tools: a react agent over a server of the sample's own, on stdio."""

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        job = _begin(state, station, jobs)
        environment = worker_environment(os.environ)
        arguments = station.server_arguments(job)
        server = mcp_server_stdio(name="agentkern", command=sys.executable, args=arguments, env=environment)
        async with mcp_connection(server):
            budget = Budget(station.request.limits.tool_calls)
            tools = [_counted(tool, job.arm, budget) for tool in await server.tools()]
            offered = [tool for tool in tools if job.arm.search or tool.name != "ak_search_kernels"]
            if job.arm.skill and job.arm.language == "agentkern":
                offered.append(_counted(_skill_reader(), job.arm, budget))
            agent = react(
                prompt=AgentPrompt(system_text(job.arm), None, None, None),
                tools=offered,
                submit=False,
                on_continue=_Patience(station, job, budget),
            )
            return await as_solver(agent)(state, generate)

    return solve


class _Patience:
    """Whether an agent goes on: while it calls tools, and for a while longer if it has handed nothing in."""

    def __init__(self, station: Station, job: Job, budget: Budget) -> None:
        self._station, self._job, self._budget = station, job, budget
        self._silences = 0

    async def __call__(self, state: AgentState) -> bool | str:
        self._budget.check()
        if state.output.message.tool_calls:
            return True
        self._silences += 1
        if self._station.handed_in(self._job) or self._silences > PATIENCE:
            return False
        return GO_ON


class Budget:
    """Calls of tools that a sample may still make."""

    def __init__(self, limit: int | None) -> None:
        self._limit = limit
        self._asked = 0

    def take(self) -> None:
        """Use one up. Errors: ToolError past the limit: nothing is run."""
        self._asked += 1
        if self._limit is not None and self._asked > self._limit:
            raise ToolError(f"the limit of {self._limit} tool calls is reached; nothing was run")

    def check(self) -> None:
        """End the sample if a call past the limit was asked for. Errors: LimitExceededError."""
        if self._limit is not None and self._asked > self._limit:
            raise LimitExceededError("custom", value=self._asked, limit=self._limit, message=TOOL_CALLS)


def _counted(tool: Tool | ToolDef, arm: Arm, budget: Budget) -> ToolDef:
    """Return a tool that uses up the budget, and whose answers lack what the arm leaves out."""
    inner = tool if isinstance(tool, ToolDef) else ToolDef(tool)

    async def execute(**arguments: Any) -> str:
        budget.take()
        return as_told(text_of(await inner.tool(**arguments)), arm)

    parameters = ToolParams.model_validate(_without_lengths(inner.parameters.model_dump(exclude_none=True)))
    return ToolDef(execute, name=inner.name, description=inner.description, parameters=parameters)


def _without_lengths(schema: Any) -> Any:
    """Return a schema that bounds no text: the server does, in its own words, where inspect would repeat the text."""
    if isinstance(schema, list):
        return [_without_lengths(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    return {key: _without_lengths(value) for key, value in schema.items() if key not in ("maxLength", "max_length")}


def _skill_reader() -> ToolDef:
    """Return the tool that opens the files which the skill refers to."""
    known: Sequence[str] = skill_files()

    async def execute(path: str) -> str:
        if path not in known:
            raise ToolError(f"the skill has no file `{path}`; it has {', '.join(known)}")
        return (skill_folder() / path).read_text(encoding="utf-8")

    wanted = ToolParam(type="string", description="A path as the skill's text gives it: references/elementwise.md")
    return ToolDef(
        execute,
        name=_SKILL_TOOL,
        description="Read a file that the skill refers to.",
        parameters=ToolParams(properties={"path": wanted}, required=["path"]),
    )
