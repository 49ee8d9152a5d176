"""The MCP server through the SDK's client: conversations, misuse, sizes, resources."""

from __future__ import annotations

import asyncio
import json
import time
from pathlib import Path

import pytest
from mcp.shared.exceptions import MCPError

from agentkern.diagnostics import Edit, Fix, apply_fix
from tests.conftest import why_no_gpu
from tests.tools.command_line import agentkern
from tests.tools.kernel_texts import BROKEN, RMS_NORM
from tests.tools.mcp_client import Conversation, converse

TOKEN_BYTES = 4


def n_tokens(value: object) -> float:
    return len(json.dumps(value, separators=(",", ":")).encode()) / TOKEN_BYTES


@pytest.mark.toolchain
def test_a_broken_kernel_is_mended_compiled_and_verified_in_one_conversation(tmp_path: Path):
    async def talk(server: Conversation) -> None:
        answer = await server.call("ak_check", source=BROKEN)
        assert answer["status"] == "rejected"
        assert n_tokens(answer) < 400
        (diagnostic,) = answer["diagnostics"]
        assert diagnostic["code"] == "AK202"
        edits = tuple(Edit(tuple(e["start"]), tuple(e["end"]), e["text"]) for e in diagnostic["fixes"][0]["edits"])
        mended = apply_fix(BROKEN, Fix("", edits))
        assert mended == RMS_NORM
        assert (await server.call("ak_check", source=mended))["status"] == "ok"

        failed = await server.call("ak_compile", source=BROKEN, dims={"H": 64})
        assert failed["status"] == "rejected"
        assert n_tokens(failed) < 400

        compiled = await server.call("ak_compile", source=mended, dims={"H": 64})
        assert compiled["status"] == "ok"
        assert compiled["resources"]["registers"] > 0
        assert n_tokens(compiled) < 400
        cuda = next(item["id"] for item in compiled["artifacts"] if item["id"].startswith("cuda-"))
        first = await server.call("ak_read", id=cuda, n_lines=5)
        assert first["n_lines"] == 5
        assert "first_line=6" in first["summary"]
        (content,) = (await server.client.read_resource(f"agentkern://artifact/{cuda}")).contents
        assert content.text.startswith(first["text"])

        verified = await server.call("ak_verify", source=mended, dims={"H": 64})
        assert verified["status"] == "ok", verified
        assert verified["verdict"] == "bit_exact"
        assert n_tokens(verified) < 250
        assert {"interpreter", "writes", "memory"} <= {check["name"] for check in verified["checks"]}
        assert server.progress

    converse(talk, tmp_path)


@pytest.mark.toolchain
def test_a_wrong_kernel_is_told_from_a_right_one_by_a_second_kernel(tmp_path: Path):
    wrong = RMS_NORM.replace("row * scale * weight", "row * weight")

    async def talk(server: Conversation) -> None:
        verified = await server.call("ak_verify", source=wrong, dims={"H": 16}, reference=RMS_NORM)
        assert verified["status"] == "failed"
        assert verified["verdict"] == "wrong"
        assert verified["mismatch"]["output"] == "out"
        assert n_tokens(verified) < 250

    converse(talk, tmp_path)


@pytest.mark.toolchain
def test_cheap_answers_do_not_wait_for_a_long_job(tmp_path: Path):
    async def talk(server: Conversation) -> None:
        await server.call("ak_check", source=RMS_NORM)  # the first one loads the compiler
        long = asyncio.create_task(server.call("ak_verify", source=RMS_NORM, dims={"H": 7168}, level="full"))
        while not any(message == "started" or "of" in message for message in server.progress):
            await asyncio.sleep(0.05)
        started = time.monotonic()
        assert (await server.call("ak_check", source=RMS_NORM.replace("1e-6", "1e-5")))["status"] == "ok"
        assert time.monotonic() - started < 2
        assert (await server.call("ak_compile", source=BROKEN, dims={"H": 64}))["status"] == "rejected"
        assert not long.done()
        for job in (tmp_path / "jobs").iterdir():
            if job.is_dir():
                await server.call("ak_job", job_id=job.name, cancel=True)
        assert (await long)["state"] == "cancelled"

    converse(talk, tmp_path)


def test_verify_without_a_gpu_says_so_briefly(tmp_path: Path):
    if why_no_gpu() is None:
        pytest.skip("there is a GPU here")

    async def talk(server: Conversation) -> None:
        answer = await server.call("ak_verify", source=RMS_NORM, dims={"H": 7168}, device="cuda")
        assert answer["status"] == "unavailable"
        assert answer["verdict"] == "not_run"
        assert "device=cpu" in answer["summary"]
        assert n_tokens(answer) < 250

    converse(talk, tmp_path)


def test_profile_without_a_gpu_says_so_and_gives_the_floor(tmp_path: Path):
    if why_no_gpu() is None:
        pytest.skip("there is a GPU here")

    async def talk(server: Conversation) -> None:
        answer = await server.call("ak_profile", source=RMS_NORM, dims={"H": 7168, "T": 8192})
        assert answer["status"] == "unavailable"
        assert answer["floor_us"] > 0
        assert n_tokens(answer) < 500
        assert "did you mean `seconds`" in await server.misuse("ak_profile", source=RMS_NORM, second=1)

    converse(talk, tmp_path)


MANY_GRID = "@ak.kernel\ndef f(a: ak.In[ak.f32, N], out: ak.Out[ak.f32, N]):\n    for n in ak.grid(N):\n"
MANY_HEAD = BROKEN.split("@ak.kernel")[0].replace("H", "N") + MANY_GRID


def test_every_error_of_a_kernel_is_told_at_once_and_its_fixes_mend_it(tmp_path: Path):
    right = MANY_HEAD + "".join(f"        y{i} = ak.rsqrt(a[n] + {i}.0)\n" for i in range(6)) + "        out[n] = y5\n"
    source = right.replace("rsqrt", "rsqr")

    async def talk(server: Conversation) -> None:
        answer = await server.call("ak_check", source=source)
        assert "more" not in answer
        assert len(answer["diagnostics"]) == 6
        edits = [e for d in answer["diagnostics"] for f in d["fixes"] for e in f["edits"]]
        fix = Fix("", tuple(Edit(tuple(e["start"]), tuple(e["end"]), e["text"]) for e in edits))
        assert apply_fix(source, fix) == right

    converse(talk, tmp_path)


def test_many_errors_are_cut_to_the_budget_and_counted(tmp_path: Path):
    source = MANY_HEAD + "".join(f"        out[n] = ak.nothing_of_that_name_{i}(a[n])\n" for i in range(200))

    async def talk(server: Conversation) -> None:
        answer = await server.call("ak_check", source=source)
        assert n_tokens(answer) < 2000
        shown = len(answer["diagnostics"])
        assert shown > 20
        assert answer["more"].startswith(f"{200 - shown} more")

    converse(talk, tmp_path)


def test_what_to_give_is_said_by_the_tools_argument(tmp_path: Path):
    async def talk(server: Conversation) -> None:
        for tool in ("ak_compile", "ak_verify", "ak_profile"):
            answer = await server.call(tool, source=RMS_NORM)
            assert answer["diagnostics"][0]["code"] == "AK803"
            assert answer["diagnostics"][0]["hint"] == 'give it: `dims={"H": ...}`'
            assert "--" not in json.dumps(answer)

    converse(talk, tmp_path)


def test_tool_schemas_are_small_and_annotated(tmp_path: Path):
    async def talk(server: Conversation) -> None:
        listed = await server.client.list_tools()
        assert [tool.name for tool in listed.tools] == [
            "ak_check", "ak_compile", "ak_verify", "ak_profile", "ak_job", "ak_reference", "ak_read", "ak_search_kernels",
            "ak_submit",
        ]  # fmt: skip
        dumped = [tool.model_dump(mode="json", by_alias=True, exclude_none=True) for tool in listed.tools]
        assert n_tokens(dumped) < 2500
        for tool in listed.tools:
            assert tool.annotations is not None
            assert tool.annotations.destructive_hint is False
            assert tool.annotations.read_only_hint is not None
            assert tool.description
            assert not any("path" in name or "file" in name for name in tool.input_schema["properties"])

    converse(talk, tmp_path)


def test_misuse_is_refused_naming_what_was_meant(tmp_path: Path):
    async def talk(server: Conversation) -> None:
        assert "did you mean `source`" in await server.misuse("ak_check", sorce=RMS_NORM)
        assert "argument `source` is missing" in await server.misuse("ak_check")
        assert "dims.H" in await server.misuse("ak_check", source=RMS_NORM, dims={"H": -1})
        assert "ak_check" in await server.misuse("ak_chek", source=RMS_NORM)
        assert "no artifact" in await server.misuse("ak_read", id="../../etc/passwd")
        assert "no job" in await server.misuse("ak_job", job_id="../../etc")
        assert "`iteration`" in await server.misuse("ak_reference", page="iterating")

    converse(talk, tmp_path)


def test_every_resource_has_a_tool_twin(tmp_path: Path):
    async def talk(server: Conversation) -> None:
        resources = (await server.client.list_resources()).resources
        assert {resource.name for resource in resources} >= {"kernels", "iteration", "operations"}
        for resource in resources:
            (content,) = (await server.client.read_resource(str(resource.uri))).contents
            assert content.text == (await server.call("ak_reference", page=resource.name))["text"]
        (content,) = (await server.client.read_resource("agentkern://diagnostic/AK301")).contents
        assert content.text == (await server.call("ak_reference", page="AK301"))["text"]
        templates = (await server.client.list_resource_templates()).resource_templates
        assert {template.name for template in templates} == {"language", "diagnostic", "artifact", "corpus"}
        with pytest.raises(MCPError, match="no resource"):
            await server.client.read_resource("agentkern://nothing/here")

    converse(talk, tmp_path)


def test_kernels_are_found_with_their_reasons_and_on_request_their_texts(tmp_path: Path):
    async def talk(server: Conversation) -> None:
        found = await server.call("ak_search_kernels", query="turn logits into probabilities", limit=2)
        assert found["kernels"][0]["name"] == "softmax"
        assert "logits" in found["kernels"][0]["why"]
        assert n_tokens(found) < 400
        with_text = await server.call("ak_search_kernels", query="look up token vectors", include_source=True)
        assert "ak.In[ak.i32, T].values(0, S)" in with_text["kernels"][0]["source"]
        assert n_tokens(with_text) < 2100
        nothing = await server.call("ak_search_kernels", query="cholesky factorisation")
        assert nothing["kernels"] == []
        quantised = await server.call("ak_search_kernels", query="In[bf16, T, H] -> Out[e4m3, T, H]", dtype="e4m3")
        assert quantised["kernels"][0]["name"].startswith("per_token_cast")
        assert "did you mean `reduction`" in await server.misuse("ak_search_kernels", query="row", feature="reductions")
        assert "limit" in await server.misuse("ak_search_kernels", query="row", limit=50)
        (content,) = (await server.client.read_resource("agentkern://corpus/softmax")).contents
        assert "def softmax(" in content.text
        assert "**The idea.**" in content.text

    converse(talk, tmp_path)


def test_what_is_excluded_is_neither_found_nor_shown_nor_named(tmp_path: Path):
    async def talk(server: Conversation) -> None:
        found = await server.call("ak_search_kernels", query="adamw optimizer step", limit=5, include_source=True)
        assert "def adamw" not in json.dumps(found)
        assert not {"adamw", "adamw_bf16"} & {
            name for row in found["kernels"] for name in (row["name"], *row.get("also", ()))
        }
        assert "def softmax(" not in json.dumps(await server.call("ak_search_kernels", query="softmax", limit=5))
        for name in ("adamw", "adamw_bf16", "optimizer/adamw", "softmax"):
            with pytest.raises(MCPError) as caught:
                await server.client.read_resource(f"agentkern://corpus/{name}")
            assert "adamw" not in caught.value.error.message.replace(f"`{name}`", "")

    converse(talk, tmp_path, "--exclude", "adamw_bf16", "--exclude", "softmax/softmax")


def test_a_name_to_exclude_that_does_not_exist_is_wrong_usage():
    answer = agentkern("mcp", "--exclude", "adamv")
    assert answer.code == 2
    assert "did you mean `adamw`" in answer.out + answer.err
