"""Codes of what surrounds kernel text: AK6xx unsupported, AK7xx calls, AK8xx tools, AK9xx our own bugs."""

from agentkern.diagnostics.code import Code, call, later, tool, usage

LATER = (
    later("AK601", "{what} is not supported yet", "{instead}"),
    later("AK603", "subscript: {what} is not supported yet", "{instead}"),
    later("AK604", "{what} is not supported yet", "{instead}"),
    Code(
        "AK605",
        "the kernel has more than {limit} operations",
        "split it, or replace unrolled loops by whole-axis operations",
    ),
    Code("AK610", "no code for {what} on {target} yet", "{instead}", "compiler", "unsupported"),
    Code(
        "AK611",
        "needs {needed} bytes of shared memory; {target} has {limit}",
        "use smaller written blocks",
        "compiler",
        "unsupported",
    ),
    Code(
        "AK612",
        "spills {spilled} bytes of registers with every schedule tried",
        "use fewer values at a time, or smaller written blocks",
        "compiler",
        "failed",
    ),
    Code(
        "AK613",
        "the schedule does not fit this kernel: {reason}",
        "leave the schedule out to get the default",
        "compiler",
    ),
)

CALLS = (
    call("AK701", "argument `{name}` is on {got}, expected {expected}", "move it to the GPU that runs the kernel"),
    call("AK702", "argument `{name}` is {got}, expected {expected}", "convert it before the call"),
    call("AK703", "argument `{name}` has {got} axes, expected {expected}"),
    call("AK704", "argument `{name}` has strides {got}, expected {expected}", "copy it to memory with those strides"),
    call("AK705", "argument `{name}`: axis {axis} is {got}, expected {expected}"),
    call("AK706", "{reason}", "the call is `{form}`"),
    call("AK707", "argument `{name}`: {value} is not a {expected}"),
    call("AK715", "`{name}` breaks a promise of the kernel: {reason}"),
    call("AK716", "a required condition does not hold: {reason}", "the kernel's `ak.require` says what it needs"),
    call("AK717", "argument `{name}` is {got}, expected {expected}", "pass a list or tuple, one tensor each"),
    call("AK708", "size `{name}` is {got}, promised {expected}"),
    call("AK718", "`{name}` is `{other}`, and {reason}", "give the output memory of its own"),
    call("AK709", "`{name}` shares memory with `{other}`", "give every output memory of its own"),
    call("AK710", "size `{name}` is shown by no argument", "name it at the call: `{name}=...`", is_usage=True),
    call("AK711", "argument `{name}` is aligned to {got} bytes, expected {expected}", "pass a copy"),
    call("AK712", "argument `{name}` of shape {shape} has no memory"),
    call("AK713", "argument `{name}` is read-only, and the kernel writes it", "pass memory that can be written"),
    call(
        "AK714",
        "`{name}` needs {blocks} blocks; a GPU runs at most {limit}",
        "use a plain size in `ak.grid` where `ak.each` stands, or pass fewer elements at a time",
    ),
)

TOOLS = (
    usage("AK801", "cannot read `{path}`: {reason}"),
    usage("AK802", "`--dim {name}`: {reason}", "the kernel's sizes are {available}"),
    Code(
        "AK803", "static size `{name}` has no value", "give it: `--dim {name}=...`", "frontend", "failed", is_usage=True
    ),
    usage("AK804", "`--set {name}`: {reason}", "the kernel's compile-time parameters are {available}"),
    usage("AK805", "`{option}`: {reason}"),
    tool("AK806", "no GPU can be used: {reason}", "{instead}", "unavailable"),
    tool("AK807", "NVRTC cannot be used: {reason}", "install the package that `agentkern doctor` names", "unavailable"),
    tool("AK808", "no C++ compiler can be used: {reason}", "install g++ 11 or newer", "unavailable"),
    tool("AK810", "stopped after {seconds} s", "use smaller sizes"),
    tool("AK811", "the reference cannot be used: {reason}"),
    tool("AK812", "there is not enough memory: {reason}", "use smaller sizes"),
    tool("AK813", "`{path}` cannot take the entry: {reason}", "mend it and install again; nothing was written"),
    tool("AK820", "evaluations cannot run models: {reason}", "`pip install 'agentkern[evals]'`", "unavailable"),
    tool("AK821", "the model cannot be used: {reason}", "name it as PROVIDER/MODEL, with its key set", "unavailable"),
    tool("AK901", "agentkern made an error of its own: {reason}", "please report it with the kernel's text"),
    tool("AK902", "the CUDA compiler rejected agentkern's code: {reason}", "please report it with the kernel's text"),
    tool("AK903", "threads are not synchronised: {reason}", "please report it, unless the text is your own"),
    tool("AK904", "the assembler serialised products: {reason}", "please report it, unless the text is your own"),
)
