"""Names that generated CUDA text cannot carry. Parameters are renamed there where they must be; kernels are not.

Source: ISO C++17, tables 5 and 6; CUDA C++ Programming Guide, "Built-in Variables".
"""

_KEYWORDS = frozenset(
    """
    alignas alignof and and_eq asm auto bitand bitor bool break case catch char char16_t char32_t class compl const
    const_cast constexpr continue decltype default delete do double dynamic_cast else enum explicit export extern false
    float for friend goto if inline int long mutable namespace new noexcept not not_eq nullptr operator or or_eq private
    protected public register reinterpret_cast return short signed sizeof static static_assert static_cast struct switch
    template this thread_local throw true try typedef typeid typename union unsigned using virtual void volatile wchar_t
    while xor xor_eq main blockDim blockIdx gridDim threadIdx warpSize
    """.split()
)


def why_not_kernel(name: str) -> str | None:
    """Why a kernel cannot have this name, or None."""
    if not name.isascii():
        return "it is not ASCII"
    if name in _KEYWORDS:
        return "it is a word of CUDA C++"
    if name.startswith(("ak_", "__")):
        return "names that begin with `ak_` or `__` belong to generated code"
    return None
