"""Serve the tools and resources over stdio with the MCP SDK. Decides nothing; `tools` has the table."""

from __future__ import annotations

import asyncio
import os
from typing import Any

import mcp_types as types
from mcp.server import Server, ServerRequestContext
from mcp.server.stdio import stdio_server
from mcp.shared.exceptions import MCPError
from pydantic import ValidationError

import agentkern
from agentkern.diagnostics import to_json
from agentkern.runtime.cache import cache_folder
from agentkern.runtime.programs import OUR_ERRORS, our_error
from agentkern.tools.artifacts import default_store
from agentkern.tools.corpus_index import index_of, without
from agentkern.tools.corpus_search import corpus_show
from agentkern.tools.reference import language_pages, read, reference
from agentkern.tools.server.arguments import explain_invalid, input_schema
from agentkern.tools.server.brief import compact
from agentkern.tools.server.jobs import JobStore
from agentkern.tools.server.submit import Judging
from agentkern.tools.server.tools import Services, ToolRow, tools_for
from agentkern.tools.server.wording import spoken_here
from agentkern.tools.sources import UsageError

_SCHEME = "agentkern://"
_INSTRUCTIONS = (
    "Write a GPU kernel as dataflow over tiles, then: ak_check until no errors (apply the fixes it returns), ak_verify "
    "until bit_exact, ak_profile where there is a GPU. ak_reference lists the language's pages; read `kernels` first."
)
_TRIAL_INSTRUCTIONS = "ak_compile until it compiles, ak_verify until it is right, then ak_submit."
_TEMPLATES = (
    ("language/{page}", "language", "A page of the language (tool: ak_reference)."),
    (
        "diagnostic/{code}",
        "diagnostic",
        "What a diagnostic code means, with a wrong and a right kernel (ak_reference).",
    ),
    ("artifact/{id}", "artifact", "CUDA, IR or proofs of an earlier result (ak_read)."),
    ("corpus/{name}", "corpus", "A verified kernel with its notes (ak_search_kernels)."),
)

Context = ServerRequestContext[Any, Any]


class ToolServer:
    """The handlers of one server; the services are shared by all its connections."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._tools = tools_for(services.judging.language)

    async def list_tools(
        self, _context: Context, _params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        """Return every tool with its arguments."""
        return types.ListToolsResult(tools=[describe(row) for row in self._tools.values()])

    async def call_tool(self, context: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        """Answer a call. A kernel's failure is an answer like any other; an error is a call that makes no sense."""
        row = self._tools.get(params.name)
        if row is None:
            return _misuse(f"no tool `{params.name}`; tools: {', '.join(self._tools)}")
        try:
            arguments = row.arguments.model_validate(params.arguments or {})
        except ValidationError as e:
            return _misuse(explain_invalid(row.arguments, e))

        async def progress(fraction: float | None, message: str) -> None:
            await context.session.report_progress(fraction or 0.0, 1.0, message)

        try:
            answer = await row.answer(arguments, self._services, progress)
        except UsageError as e:
            return _misuse(spoken_here(e.diagnostic.message))
        except OUR_ERRORS as e:
            found = our_error(e, "kernel.py")
            answer = {"status": "failed", "summary": f"{found.message}; {found.hint}", "diagnostics": [to_json(found)]}
        return types.CallToolResult(
            content=[types.TextContent(type="text", text=compact(answer))], structured_content=answer
        )

    async def list_resources(
        self, _context: Context, _params: types.PaginatedRequestParams | None
    ) -> types.ListResourcesResult:
        """Return the language's pages."""
        pages = [
            types.Resource(uri=f"{_SCHEME}language/{name}", name=name, description=title, mime_type="text/markdown")
            for name, title in language_pages().items()
        ]
        return types.ListResourcesResult(resources=pages)

    async def list_templates(
        self, _context: Context, _params: types.PaginatedRequestParams | None
    ) -> types.ListResourceTemplatesResult:
        """Return how each kind of resource is named."""
        templates = [
            types.ResourceTemplate(uri_template=f"{_SCHEME}{path}", name=name, description=description)
            for path, name, description in _TEMPLATES
        ]
        return types.ListResourceTemplatesResult(resource_templates=templates)

    async def read_resource(
        self, _context: Context, params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        """Return a page or an artifact."""
        uri = str(params.uri)
        kind, _, name = uri.removeprefix(_SCHEME).partition("/")
        try:
            if kind in ("language", "diagnostic"):
                text, mime_type = reference(name).text, "text/markdown"
            elif kind == "artifact":
                text, mime_type = read(self._services.artifacts, name).text, "text/plain"
            elif kind == "corpus":
                text, mime_type = self._kernel(name), "text/markdown"
            else:
                kinds = ", ".join(path for path, _, _ in _TEMPLATES)
                raise MCPError(types.INVALID_PARAMS, f"no resource `{uri}`; resources: {_SCHEME} with {kinds}")
        except UsageError as e:
            raise MCPError(types.INVALID_PARAMS, e.diagnostic.message, {"diagnostics": [to_json(e.diagnostic)]}) from e
        return types.ReadResourceResult(contents=[types.TextResourceContents(uri=uri, mime_type=mime_type, text=text)])

    def _kernel(self, name: str) -> str:
        """A kernel of the corpus as one page. Errors: UsageError for a name that is none, or hidden."""
        shown = corpus_show(name, hidden=self._services.hidden)
        return f"{shown.notes.rstrip()}\n\n```python\n{shown.text.rstrip()}\n```\n"


def describe(row: ToolRow) -> types.Tool:
    """Return a tool as clients see it."""
    hints = types.ToolAnnotations(
        read_only_hint=row.is_read_only,
        destructive_hint=False,
        idempotent_hint=row.is_idempotent,
        open_world_hint=False,
    )
    return types.Tool(
        name=row.name, description=row.description, input_schema=input_schema(row.arguments), annotations=hints
    )


def make_server(services: Services) -> Server[Any]:
    """Return the server over `services`, ready to be run on a transport."""
    tools = ToolServer(services)
    return Server(
        "agentkern",
        version=agentkern.__version__,
        instructions=_INSTRUCTIONS if services.judging.language == "agentkern" else _TRIAL_INSTRUCTIONS,
        on_list_tools=tools.list_tools,
        on_call_tool=tools.call_tool,
        on_list_resources=tools.list_resources,
        on_list_resource_templates=tools.list_templates,
        on_read_resource=tools.read_resource,
    )


def serve(hidden: tuple[str, ...] = (), judging: Judging | None = None) -> None:
    """Serve on stdin and stdout until the client closes them, without the kernels of the corpus named in `hidden`.

    `judging`: how submissions are judged and where they are kept; by default in memory alone.

    Errors: UsageError for a name in `hidden` that is none.
    """
    if hidden:
        without(index_of(), hidden)
    jobs = JobStore(cache_folder(os.environ))
    services = Services(jobs, default_store(), hidden, judging or Judging())
    server = make_server(services)

    async def run() -> None:
        async with stdio_server() as (read_stream, write_stream):
            await server.run(read_stream, write_stream, server.create_initialization_options())

    asyncio.run(run())


def _misuse(message: str) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(type="text", text=message)], is_error=True)
