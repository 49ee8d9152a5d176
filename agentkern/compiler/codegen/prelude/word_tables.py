"""The parameter that holds a list of tensors: 64-bit words side by side, one of which a run-time number picks.

As a `__grid_constant__` parameter it stays in the constant bank, where a number that all threads share reads one word.
"""

from agentkern.compiler.codegen.prelude.table import PreludeType

WORD_TABLE = PreludeType(
    "AkTable",
    "template <int N>\n"
    "struct AkTable {\n"
    "  unsigned long long words[N];\n"
    "  __device__ __forceinline__ unsigned long long at(long long number) const { return words[number]; }\n"
    "};",
    "a list of pointers or strides in the launch's arguments",
    "CUDA C++ Programming Guide: __grid_constant__",
)
