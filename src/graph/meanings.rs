//! What the words of the language mean, in a line each: for hovers, completion, `:doc` and the reference.
//!
//! ```text
//! lerp      lerp(a, b, t)      `a + (b - a) * t`
//! .wrap     .wrap()            repeats: `b c | a b c | a b`
//! range     range lo..hi       images: these values become the darkest and brightest pixel; …
//! ```
//!
//! docs/language.md shows the same lines; a test holds it to them.

/// Words, what is written there, and what it means.
pub type Words = [(&'static str, &'static str, &'static str)];

/// Functions that need no `use`.
pub const FUNCTIONS: &Words = &[
    ("abs", "abs(x)", "magnitude"),
    ("sign", "sign(x)", "-1, 0 or 1, in the type of `x`; the sign of ±0 and NaN is itself"),
    ("min", "min(a, b, …)", "the smallest of two or more, from the left"),
    ("max", "max(a, b, …)", "the largest of two or more, from the left"),
    ("clamp", "clamp(x, lo, hi)", "`x` held between `lo` and `hi`"),
    ("select", "select(condition, a, b)", "`if condition then a else b`"),
    ("lerp", "lerp(a, b, t)", "`a + (b - a) * t`"),
    (
        "smoothstep",
        "smoothstep(lo, hi, x)",
        "`t * t * (3 - 2 * t)` with `t = clamp((x - lo) / (hi - lo), 0, 1)`",
    ),
    ("floor", "floor(x)", "to a whole float, down"),
    ("ceil", "ceil(x)", "to a whole float, up"),
    ("round", "round(x)", "to the nearest whole float, half to even"),
    ("trunc", "trunc(x)", "to a whole float, toward zero"),
    ("fract", "fract(x)", "`x - floor(x)`"),
    ("sqrt", "sqrt(x)", "square root"),
    ("rsqrt", "rsqrt(x)", "`1 / sqrt(x)`"),
    ("hypot", "hypot(x, y)", "`sqrt(x * x + y * y)` without overflow"),
    ("exp", "exp(x)", "e to the power `x`"),
    ("exp2", "exp2(x)", "2 to the power `x`"),
    ("log", "log(x)", "natural logarithm"),
    ("log2", "log2(x)", "logarithm to base 2"),
    ("pow", "pow(x, y)", "`x` to the power `y`, of floats"),
    ("sin", "sin(x)", "sine of `x` radians"),
    ("cos", "cos(x)", "cosine of `x` radians"),
    ("tan", "tan(x)", "tangent of `x` radians"),
    ("asin", "asin(x)", "the angle in radians whose sine is `x`"),
    ("acos", "acos(x)", "the angle in radians whose cosine is `x`"),
    ("atan", "atan(x)", "the angle in radians whose tangent is `x`"),
    ("atan2", "atan2(y, x)", "the angle in radians from the x axis to the point (x, y)"),
    ("sinh", "sinh(x)", "hyperbolic sine"),
    ("cosh", "cosh(x)", "hyperbolic cosine"),
    ("tanh", "tanh(x)", "hyperbolic tangent"),
    ("fma", "fma(a, b, c)", "`a * b + c`, rounded once"),
    ("bits", "bits(x)", "the pattern of an f32 as u32, of an f64 as u64"),
    ("float_bits", "float_bits(i)", "the f32 or f64 with the pattern of a 32- or 64-bit integer"),
    ("popcount", "popcount(i)", "how many bits are 1"),
    ("hash", "hash(i, …)", "a u32 from integers"),
    ("rand", "rand(i, …)", "a weak float in [0, 1) from integers"),
    ("index", "index(label)", "the number of the window along a dimension (windowed bodies only)"),
];

/// Functions that run over variables; `min` and `max` are among [`FUNCTIONS`], too.
pub const REDUCTIONS: &Words = &[
    ("sum", "sum(i in a..b) e", "all values added up"),
    ("product", "product(i in a..b) e", "all values multiplied"),
    ("mean", "mean(i in a..b) e", "their sum, divided once by how many there are; floats only"),
    ("min", "min(i in a..b) e", "the smallest value"),
    ("max", "max(i in a..b) e", "the largest value"),
    ("any", "any(i in a..b) e", "whether one is true"),
    ("all", "all(i in a..b) e", "whether all are true"),
    ("argmin", "argmin(i in a..b) e", "the first `i` at which the value is smallest"),
    ("argmax", "argmax(i in a..b) e", "the first `i` at which the value is largest"),
];

/// View operations.
pub const VIEW_OPS: &Words = &[
    ("add_dim", "add_dim(label)", "one more dimension in front, of which every coordinate shows the same"),
    (
        "as_strided",
        "as_strided([size, …], [stride, …], offset)",
        "sizes, strides and offset in row-major storage, checked to stay inside it",
    ),
    ("at", "at({y: 3})", "fixes dimensions and drops them"),
    ("clamp", "clamp()", "outside: the nearest element, `a a | a b c | c c`"),
    (
        "diagonal",
        "diagonal([y, x], label)",
        "walks the named dimensions together; the new dimension comes first, where all of them overlap",
    ),
    ("expand", "expand([size, …])", "repeats dimensions of size 1; further sizes in front add dimensions"),
    ("fill", "fill(value)", "outside: a value"),
    ("flatten", "flatten()", "the same elements in row-major order, as one dimension"),
    ("flip", "flip([x])", "turns round in place; an unbounded dimension maps i to -i"),
    ("implicit", "implicit([x])", "the bounds are no longer enforced"),
    ("label", "label([row, column])", "new names"),
    ("mirror", "mirror()", "back and forth, the edge twice: `b a | a b c | c b`"),
    (
        "oindex",
        "oindex({y: [3, 1, 4]})",
        "picks coordinates from a list, per dimension; the new dimension counts from 0 and has no label",
    ),
    ("pad", "pad([before..after, …], value)", "cells of a value before and after; the result starts at 0"),
    ("permute", "permute([x, y])", "another order, naming every dimension once"),
    ("reflect", "reflect()", "back and forth, the edge once: `c b | a b c | b a`"),
    (
        "reshape",
        "reshape([size, …])",
        "the same elements in row-major order; one size may be -1; from 0, labels dropped",
    ),
    ("shrink", "shrink([a..b, …])", "like a slice by coordinates, but the result starts at 0"),
    ("squeeze", "squeeze()", "drops every dimension of size 1"),
    ("stride", "stride([step, …])", "`new[i] = old[s * i]`: the multiples of `s`"),
    ("translate_by", "translate_by([distance, …])", "moves coordinates by a distance"),
    ("translate_to", "translate_to([origin, …])", "moves the lowest coordinates to a place"),
    (
        "vindex",
        "vindex({y: [0, 1], x: [3, 4]}, label)",
        "picks points from lists of one length; one new dimension in front",
    ),
    ("wrap", "wrap()", "repeats: `b c | a b c | a b`"),
];

/// Options of an output.
pub const OPTIONS: &Words = &[
    (
        "range",
        "range lo..hi",
        "images: these values become the darkest and brightest pixel; beyond is clamped, half rounds to even",
    ),
    (
        "colormap",
        "colormap NAME",
        "images of (y, x): `grey` (or `gray`), `terrain`, `viridis`, `magma`, `turbo`, `heat`, `ocean`",
    ),
    ("type", "type T", "element type of the file"),
    (
        "codec",
        "codec NAME",
        "`none`, `crc32c` (a checksum alone), `gzip` or `zstd` (the default), with a level as in `codec gzip(6)`; zarr arrays only. `blosc` and `lz4` are known, and not written",
    ),
    ("chunk", "chunk [sizes]", "chunk shape; zarr arrays only"),
];

/// Levels and leaves of a format.
pub const LEVELS: &Words = &[
    ("dense", "dense(…)", "every element"),
    ("sparse_list", "sparse_list(…)", "sorted coordinates"),
    ("sparse_coo", "sparse_coo(n, …)", "sorted tuples of n dimensions"),
    ("sparse_dict", "sparse_dict(…)", "a hash table"),
    ("sparse_bytemap", "sparse_bytemap(…)", "a byte per coordinate"),
    ("run_list", "run_list(…)", "runs of equal values"),
    ("sparse_band", "sparse_band(…)", "one stretch"),
    ("element", "element(fill)", "the leaf; `fill` is the value not stored"),
    ("pattern", "pattern", "the leaf of `bool`: what is stored is true"),
];

/// What is written and what it means, of a word in a list.
pub fn of(words: &Words, name: &str) -> Option<(&'static str, &'static str)> {
    words.iter().find(|(known, ..)| *known == name).map(|(_, usage, meaning)| (*usage, *meaning))
}
