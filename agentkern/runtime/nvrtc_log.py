"""Read the log of NVRTC and ptxas into messages.

Pure text work; knows nothing of the library. The formats are those of NVRTC 12.8 to 13.5: front-end messages
`file(line): error: text` with an excerpt below, ptxas messages `ptxas ..., line N; error : text`, and remarks of ptxas
that carry a code such as `(C7511)`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum


class Severity(StrEnum):
    """How bad a message is."""

    ERROR = "error"
    WARNING = "warning"
    REMARK = "remark"


@dataclass(frozen=True, slots=True)
class CudaMessage:
    """One message of the CUDA compiler.

    `line` is a line of `file` (the CUDA text, or what a `#line` says), or of the PTX where `file` is `ptx`.
    """

    severity: Severity
    text: str
    file: str | None = None
    line: int | None = None
    code: str | None = None
    excerpt: str | None = None


_FRONT_END = re.compile(
    r"^(?P<file>.+?)\((?P<line>\d+)\): (?:catastrophic )?(?P<severity>error|warning|remark)"
    r"(?: (?P<code>#[\w-]+))?: (?P<text>.*)$"
)
_PTXAS_LINE = re.compile(
    r"^ptxas (?P<file>.+?), line (?P<line>\d+); (?P<severity>error|warning|info)\s*: (?P<text>.*)$"
)
_PTXAS_PLAIN = re.compile(r"^ptxas (?P<severity>fatal|error|warning)\s*: (?P<text>.*)$")
_PTXAS_CODE = re.compile(r"^(?:ptxas )?(?P<kind>info|warning)\s*: \((?P<code>C\d{4})\) (?P<text>.*)$")
_NVRTC_PLAIN = re.compile(r"^nvrtc: (?P<severity>error|warning): (?P<text>.*)$")
_SUMMARY = "Ptx assembly aborted due to errors"
_SEVERITIES = {
    "error": Severity.ERROR,
    "fatal": Severity.ERROR,
    "warning": Severity.WARNING,
    "info": Severity.REMARK,
    "remark": Severity.REMARK,
}


def parse_log(log: str) -> tuple[CudaMessage, ...]:
    """Return the messages of `log`, in its order; the resource lines of `ptxas -v` are not messages."""
    lines = log.splitlines()
    return tuple(message for i in range(len(lines)) if (message := _message_at(lines, i)) is not None)


def _message_at(lines: list[str], index: int) -> CudaMessage | None:
    line = lines[index]
    if match := _PTXAS_CODE.match(line):
        return CudaMessage(_SEVERITIES[match["kind"]], match["text"], code=match["code"])
    if match := _PTXAS_LINE.match(line):
        return CudaMessage(_SEVERITIES[match["severity"]], match["text"], "ptx", int(match["line"]))
    if match := _PTXAS_PLAIN.match(line):
        if match["text"].startswith(_SUMMARY):
            return None
        return CudaMessage(_SEVERITIES[match["severity"]], match["text"])
    if match := _NVRTC_PLAIN.match(line):
        return CudaMessage(_SEVERITIES[match["severity"]], match["text"])
    if match := _FRONT_END.match(line):
        severity = _SEVERITIES[match["severity"]]
        excerpt = _excerpt_after(lines, index)
        return CudaMessage(severity, match["text"], match["file"], int(match["line"]), match["code"], excerpt)
    return None


def _excerpt_after(lines: list[str], index: int) -> str | None:
    following = lines[index + 1 : index + 3]
    if len(following) == 2 and following[1].strip() == "^":
        return "\n".join(following)
    return None
