"""Each kind of line in the compiler's log is read for what it is."""

from agentkern.runtime.nvrtc_log import CudaMessage, Severity, parse_log


def test_front_end_error_keeps_its_place_and_excerpt():
    log = 'k.cu(3): error: identifier "foo" is undefined\n   o[0]=foo(1);\n        ^\n\n1 error detected.\n'
    assert parse_log(log) == (
        CudaMessage(Severity.ERROR, 'identifier "foo" is undefined', "k.cu", 3, None, "   o[0]=foo(1);\n        ^"),
    )


def test_front_end_warning_keeps_its_number():
    (message,) = parse_log('k.cu(2): warning #177-D: variable "y" was declared but never referenced\n')
    assert (message.severity, message.code) == (Severity.WARNING, "#177-D")


def test_ptxas_error_names_the_ptx_line():
    log = (
        "ptxas application ptx input, line 26; error   : Not a name of any known instruction: 'bogus'\n"
        "ptxas fatal   : Ptx assembly aborted due to errors\n"
    )
    (message,) = parse_log(log)
    assert (message.file, message.line) == ("ptx", 26)


def test_ptxas_remark_keeps_its_code():
    log = "ptxas info    : (C7511) Potential Performance Loss: wgmma.mma_async instructions are serialized\n"
    (message,) = parse_log(log)
    assert (message.severity, message.code) == (Severity.REMARK, "C7511")


def test_resource_lines_are_no_messages():
    log = "ptxas info    : 0 bytes gmem\nptxas info    : Used 10 registers, used 0 barriers\n"
    assert parse_log(log) == ()
