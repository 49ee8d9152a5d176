"""TILE texts that tests of the interpreter and of verify run. Data only."""

VECTOR_ADD = """
agentkern.ir 1
kernel tile @vector_add(%x: in<f32, [N]>, %y: in<f32, [N]>, %out: out<f32, [N]>) {} {
  size N {static = false, multiple_of = 1, minimum = 0, maximum = none}
  grid() {
  ^(%i: block<%i, N>)
    %a = load(%x, %i) {index = ["$0"]} : tile<f32, [%i]>
    %b = load(%y, %i) {index = ["$0"]} : tile<f32, [%i]>
    %c = add(%a, %b) : tile<f32, [%i]>
    store(%out, %c, %i) {index = ["$0"]}
  }
}
"""

RMS_NORM = """
agentkern.ir 1
kernel tile @rms_norm(%x: in<bf16, [T, H]>, %weight: in<bf16, [H]>, %out: out<bf16, [T, H]>, %eps: f32) {} {
  size T {static = false, multiple_of = 1, minimum = 0, maximum = none}
  size H {static = true, multiple_of = 1, minimum = 0, maximum = none}
  grid() {
  ^(%t: block<%t, T>)
    %raw = load(%x, %t) {index = ["$0", ":"]} : tile<bf16, [%t, H]>
    %row = cast(%raw) : tile<f32, [%t, H]>
    %square = mul(%row, %row) : tile<f32, [%t, H]>
    %sum = sum(%square) {axes = [1], keepdims = true} : tile<f32, [%t, 1]>
    %h = size() {extent = H} : i64
    %hf = cast(%h) : f32
    %hb = broadcast(%hf) : tile<f32, [%t, 1]>
    %mean = div(%sum, %hb) : tile<f32, [%t, 1]>
    %epsb = broadcast(%eps) : tile<f32, [%t, 1]>
    %biased = add(%mean, %epsb) : tile<f32, [%t, 1]>
    %scale = rsqrt(%biased) : tile<f32, [%t, 1]>
    %scales = broadcast(%scale) : tile<f32, [%t, H]>
    %scaled = mul(%row, %scales) : tile<f32, [%t, H]>
    %w = load(%weight) {index = [":"]} : tile<bf16, [H]>
    %wf = cast(%w) : tile<f32, [H]>
    %wb = broadcast(%wf) : tile<f32, [%t, H]>
    %result = mul(%scaled, %wb) : tile<f32, [%t, H]>
    %narrow = cast(%result) : tile<bf16, [%t, H]>
    store(%out, %narrow, %t) {index = ["$0", ":"]}
  }
}
"""

PER_TOKEN_CAST = """
agentkern.ir 1
kernel tile @per_token_cast(%x: in<bf16, [T, H]>, %q: out<e4m3, [T, H]>, %sf: out<f32, [T, (H + 127) // 128]>) {} {
  size T {static = false, multiple_of = 1, minimum = 0, maximum = none}
  size H {static = true, multiple_of = 1, minimum = 0, maximum = none}
  grid() {
  ^(%t: block<%t, T>, %h: block<%h, H, 128>)
    %raw = load(%x, %t, %h) {index = ["$0", "$1"]} : tile<bf16, [%t, %h]>
    %v = cast(%raw) : tile<f32, [%t, %h]>
    %amax = absmax(%v) {axes = [1], keepdims = false} : tile<f32, [%t]>
    %least = constant() {value = 0.0001} : f32
    %leasts = broadcast(%least) : tile<f32, [%t]>
    %a = maximum(%amax, %leasts) : tile<f32, [%t]>
    %top = constant() {value = 448.0} : f32
    %tops = broadcast(%top) : tile<f32, [%t]>
    %scale = div(%a, %tops) : tile<f32, [%t]>
    %factor = div(%tops, %a) : tile<f32, [%t]>
    %column = reshape(%factor) : tile<f32, [%t, 1]>
    %factors = broadcast(%column) : tile<f32, [%t, %h]>
    %scaled = mul(%v, %factors) : tile<f32, [%t, %h]>
    %code = cast(%scaled) : tile<e4m3, [%t, %h]>
    store(%q, %code, %t, %h) {index = ["$0", "$1"]}
    %n = ordinal(%h) : i64
    store(%sf, %scale, %t, %n) {index = ["$0", "$1"]}
  }
}
"""
