"""Names that generated code cannot give: C++ words, and what CUDA C++ declares with C linkage. Data only.

Source: the CUDA Math API and the runtime's device functions; each name was tried, NVRTC 12 refuses these.
"""

_MATHS = frozenset(
    """
    acos acosh asin asinh atan atan2 atanh cbrt ceil copysign cos cosh cospi cyl_bessel_i0 cyl_bessel_i1 erf erfc
    erfcinv erfcx erfinv exp exp10 exp2 expm1 fabs fdim fdivide floor fma fmax fmin fmod frexp hypot ilogb j0 j1
    jn ldexp lgamma llrint llround log log10 log1p log2 logb lrint lround max min modf nan nearbyint nextafter
    norm norm3d norm4d normcdf normcdfinv pow rcbrt remainder remquo rhypot rint rnorm rnorm3d rnorm4d round rsqrt
    scalbln scalbn sin sincos sincospi sinh sinpi sqrt tan tanh tgamma trunc y0 y1 yn
    """.split()
)
_OTHERS = """
    abs labs llabs umin umax llmin llmax ullmin ullmax malloc free printf clock64 assert dim3 size_t NULL std
    """.split()
DECLARED = _MATHS | {f"{name}f" for name in _MATHS} | frozenset(_OTHERS)
"""Names that no function can have."""

RESERVED = frozenset(
    """
    alignas alignof and and_eq asm auto bitand bitor bool break case catch char class compl const constexpr const_cast
    continue decltype default delete do double dynamic_cast else enum explicit export extern false float for friend goto
    if inline int long max min mutable namespace new noexcept not not_eq nullptr operator or or_eq private protected
    public register reinterpret_cast return short signed sizeof static static_assert static_cast struct switch template
    this thread_local throw true try typedef typeid typename union unsigned using virtual void volatile wchar_t while
    xor xor_eq blockDim blockIdx gridDim threadIdx warpSize
    """.split()
)
"""Names that no variable can have: the words of C++17, and the variables that CUDA gives every thread."""
