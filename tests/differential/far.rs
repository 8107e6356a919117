//! Tensors of windows that are large and hardly read: across the seams of wraps, where few remainders are asked for, at
//! places far apart.
//!
//! ```text
//! tensor w1: f32[x: 3..1008] window [6] stride [3] offset [3] as [i] = rand(index(x), i)
//! tensor t2: f32[x: inf] = sum(i in -1..=1) w1.wrap()[x + i]
//! t2[1004:1011]
//! ```

use crate::scope::Gen;

/// A dimension of such a tensor.
struct Along {
    label: &'static str,
    lo: i64,
    len: i64,
    size: i64,
    stride: i64,
}

/// Elements of a slice, at the most.
const MOST_READ: i64 = 12;

impl Gen {
    /// Such a tensor, another one or two that read it, and slices of the last.
    pub(crate) fn far(&mut self) -> Vec<String> {
        self.hit("far reads");
        let labels = self.rng.pick(&[&["x"] as &[&'static str], &["y", "x"]]);
        let dims: Vec<Along> = labels.iter().map(|label| self.large(label)).collect();
        let mut name = self.windows(&dims);
        for _ in 0..1 + self.rng.below(2) {
            name = self.reader(&name, &dims);
        }
        (0..1 + self.rng.below(3)).map(|_| self.slice_at_seams(&name, &dims)).collect()
    }

    fn large(&mut self, label: &'static str) -> Along {
        let (size, stride) = (self.rng.within(1, 6), self.rng.within(1, 7));
        let windows = self.rng.pick(&[2, 9, 40, 300]);
        Along { label, lo: self.rng.within(-9, 9), len: windows * stride + size, size, stride }
    }

    fn windows(&mut self, dims: &[Along]) -> String {
        let name = self.name("w");
        let all = |text: fn(&Along) -> String| dims.iter().map(text).collect::<Vec<_>>().join(", ");
        let places = ["i", "j"][..dims.len()].join(", ");
        self.item(format!(
                "tensor {name}: f32[{}] window [{}] stride [{}] offset [{}] as [{places}] = rand({}, {places})",
                all(|dim| format!("{}: {}..{}", dim.label, dim.lo, dim.lo + dim.len)),
                all(|dim| dim.size.to_string()),
                all(|dim| dim.stride.to_string()),
                all(|dim| dim.lo.to_string()),
                all(|dim| format!("index({})", dim.label)),
            ), None);
        name
    }

    /// A tensor without ends that reads another one through a view without ends.
    fn reader(&mut self, source: &str, dims: &[Along]) -> String {
        let name = self.name("t");
        let domain: Vec<String> = dims.iter().map(|dim| format!("{}: inf", dim.label)).collect();
        let view = self.endless(source, dims);
        let moved = |made: &mut Gen, dim: &Along, by: String| {
            let factor = made.rng.pick(&["", "", "", "2 * ", "-"]);
            format!("{factor}{} + ({by})", dim.label)
        };
        let read = |made: &mut Gen, by: &str| {
            let at = made.rng.below(dims.len());
            let coords = dims.iter().enumerate().map(|(dim, along)| {
                let own = if dim == at { by.to_owned() } else { made.rng.within(-2, 2).to_string() };
                moved(made, along, own)
            });
            format!("{view}[{}]", coords.collect::<Vec<_>>().join(", "))
        };
        let (label, by) = (dims[self.rng.below(dims.len())].label, self.rng.pick(&[2, 4, 7, 30, 100]));
        let rest = self.rng.within(0, by - 1);
        let body = match self.rng.below(6) {
            0 | 1 => format!("sum(k in -2..=1) {}", read(self, "k")),
            2 => format!("{} + 2 * {}", read(self, "-1"), read(self, "1")),
            3 => format!("if {label} % {by} == {rest} then {} else 0.5", read(self, "0")),
            4 => format!(
                "if ({label} + {rest}) % {by} < 2 then {} else {}",
                read(self, "3"),
                read(self, "-400")
            ),
            _ => format!("max(k in 0..3) if ({label} + k) % {by} == {rest} then {} else 0", read(self, "k")),
        };
        self.item(format!("tensor {name}: f32[{}] = {body}", domain.join(", ")), None);
        name
    }

    fn endless(&mut self, source: &str, dims: &[Along]) -> String {
        if source.starts_with('t') {
            return source.to_owned();
        }
        let cut = |made: &mut Gen| {
            let ranges =
                dims.iter().map(|dim| format!("{}:{}", dim.lo + 1, dim.lo + made.rng.within(2, dim.len)));
            ranges.collect::<Vec<_>>().join(", ")
        };
        match self.rng.below(5) {
            0 => format!("{source}[{}].wrap()", cut(self)),
            1 => format!("{source}.wrap()[{}].wrap()", cut(self)),
            2 => format!("{source}.{}()", self.rng.pick(&["mirror", "reflect", "clamp"])),
            _ => format!("{source}.wrap()"),
        }
    }

    fn slice_at_seams(&mut self, name: &str, dims: &[Along]) -> String {
        let mut left = MOST_READ;
        let mut ranges = Vec::new();
        for dim in dims {
            let seam = dim.lo + self.rng.within(-2, 2) * dim.len;
            let first =
                seam + if self.rng.chance(70) { self.rng.within(-5, 2) } else { self.rng.within(-500, 500) };
            let len = self.rng.within(1, left);
            left = (left / len).max(1);
            ranges.push(format!("{first}:{}", first + len));
        }
        format!("{name}[{}]", ranges.join(", "))
    }
}
