"""Names that CUDA C++ declares with C linkage for every text: a function of generated code cannot have them. Data only.

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
