//! Views: chains of slices, index transforms, movement ops and boundaries, with the domain that each leaves.

use crate::scope::{Array, Dim, Gen};
use itp::graph::types::Element;

/// The text of an op and the array that comes out; `None` when it does not apply.
type Step = Option<(String, Array)>;

/// Most elements that a view may get by repeating.
const MOST: i64 = 400;

pub(crate) const OPS: [&str; 25] = [
    "slice",
    "translate_by",
    "translate_to",
    "stride",
    "label",
    "permute",
    "diagonal",
    "add_dim",
    "at",
    "oindex",
    "vindex",
    "implicit",
    "reshape",
    "flatten",
    "expand",
    "shrink",
    "flip",
    "pad",
    "squeeze",
    "as_strided",
    "clamp",
    "wrap",
    "mirror",
    "reflect",
    "fill",
];

/// Ops through which every element stands once and nothing is folded.
const INJECTIVE: [&str; 8] =
    ["slice", "translate_by", "translate_to", "permute", "flip", "label", "shrink", "stride"];

impl Gen {
    /// One op now and then two, for a read.
    pub(crate) fn chain_in_place(&mut self, array: &Array) -> (String, Array) {
        let count = 1 + usize::from(self.rng.chance(25));
        self.chain(array, count, &OPS)
    }

    /// A chain to write through.
    pub(crate) fn writable_chain(&mut self, array: &Array) -> (String, Array) {
        let count = self.rng.below(3);
        self.chain(array, count, &INJECTIVE)
    }

    /// `count` ops from `from`, as far as they apply.
    pub(crate) fn chain(&mut self, array: &Array, count: usize, from: &[&'static str]) -> (String, Array) {
        let (mut text, mut view) = (array.name.clone(), array.clone());
        let mut done = 0;
        for _ in 0..8 * count {
            let op = self.rng.pick(from);
            let Some((step, next)) = self.op(op, &view) else { continue };
            self.hit(format!("view {op}"));
            text.push_str(&step);
            view = next;
            done += 1;
            if done == count {
                break;
            }
        }
        if done > 1 {
            self.hit("chained views");
        }
        (text, view)
    }

    fn op(&mut self, op: &str, a: &Array) -> Step {
        let simple = ["slice", "permute", "label", "translate_by"].contains(&op);
        if a.dims.is_empty() && op != "add_dim" && op != "expand" || a.is_empty() && !simple {
            return None;
        }
        match op {
            "slice" => self.slice(a),
            "translate_by" => self.translate_by(a),
            "translate_to" => self.translate_to(a),
            "stride" => self.stride(a),
            "label" => self.relabel(a),
            "permute" => self.permute(a),
            "diagonal" => self.diagonal(a),
            "add_dim" => self.add_dim(a),
            "at" => self.at(a),
            "oindex" => self.oindex(a),
            "vindex" => self.vindex(a),
            "implicit" => self.implicit(a),
            "reshape" => self.reshape(a),
            "flatten" => Some((".flatten()".into(), with(a, vec![Dim::new("_", 0, a.len()?)]))),
            "expand" => self.expand(a),
            "shrink" => self.shrink(a),
            "flip" => self.flip(a),
            "pad" => self.pad(a),
            "squeeze" => squeeze(a),
            "as_strided" => self.as_strided(a),
            "fill" => self.fill(a),
            _ => self.boundary(op, a),
        }
    }

    /// A place inside `dim`, near 0 where it has no end.
    pub(crate) fn place(&mut self, dim: &Dim) -> i64 {
        let lo = dim.lo.unwrap_or(dim.hi.map_or(-6, |hi| hi - 9));
        let hi = dim.hi.unwrap_or(lo + 12);
        self.rng.within(lo, hi - 1)
    }

    fn translate_by(&mut self, a: &Array) -> Step {
        let by: Vec<i64> = a.dims.iter().map(|_| self.rng.within(-7, 7)).collect();
        let move_ = |(dim, by): (&Dim, &i64)| Dim {
            lo: dim.lo.map(|lo| lo + by),
            hi: dim.hi.map(|hi| hi + by),
            ..dim.clone()
        };
        if self.rng.chance(25) {
            self.hit("view op with a map");
            let at = self.rng.below(by.len());
            let mut dims = a.dims.clone();
            dims[at] = move_((&dims[at], &by[at]));
            return Some((format!(".translate_by({{{}: {}}})", dim_name(a, at), by[at]), with(a, dims)));
        }
        let dims = a.dims.iter().zip(&by).map(move_).collect();
        Some((format!(".translate_by([{}])", list(&by)), with(a, dims)))
    }

    fn translate_to(&mut self, a: &Array) -> Step {
        let (mut texts, mut dims) = (Vec::new(), Vec::new());
        for dim in &a.dims {
            let Some(lo) = dim.lo.filter(|_| self.rng.chance(80)) else {
                texts.push("_".to_owned());
                dims.push(dim.clone());
                continue;
            };
            let to = self.rng.within(-5, 5);
            texts.push(to.to_string());
            dims.push(Dim { lo: Some(to), hi: dim.hi.map(|hi| hi - lo + to), ..dim.clone() });
        }
        Some((format!(".translate_to([{}])", texts.join(", ")), with(a, dims)))
    }

    fn stride(&mut self, a: &Array) -> Step {
        let by: Vec<i64> = a.dims.iter().map(|_| self.rng.within(1, 3)).collect();
        let up = |x: i64, s: i64| x.div_euclid(s) + i64::from(x.rem_euclid(s) != 0);
        let thin = |(dim, s): (&Dim, &i64)| Dim {
            lo: dim.lo.map(|lo| up(lo, *s)),
            hi: dim.hi.map(|hi| up(hi, *s).max(dim.lo.map_or(i64::MIN, |lo| up(lo, *s)))),
            ..dim.clone()
        };
        let dims: Vec<Dim> = a.dims.iter().zip(&by).map(thin).collect();
        let some_left = dims.iter().all(|dim| dim.len() != Some(0));
        some_left.then(|| (format!(".stride([{}])", list(&by)), with(a, dims)))
    }

    fn relabel(&mut self, a: &Array) -> Step {
        let labels: Vec<String> = a.dims.iter().map(|_| self.name("l")).collect();
        let dims = a.dims.iter().zip(&labels).map(|(dim, label)| Dim { label: label.clone(), ..dim.clone() });
        Some((format!(".label([{}])", labels.join(", ")), with(a, dims.collect())))
    }

    fn permute(&mut self, a: &Array) -> Step {
        let mut order: Vec<usize> = (0..a.dims.len()).collect();
        self.rng.shuffle(&mut order);
        let names: Vec<String> = order.iter().map(|at| dim_name(a, *at)).collect();
        let dims = order.iter().map(|at| a.dims[*at].clone()).collect();
        Some((format!(".permute([{}])", names.join(", ")), with(a, dims)))
    }

    /// Two different dimensions.
    fn pair(&mut self, a: &Array) -> Option<(usize, usize)> {
        if a.dims.len() < 2 {
            return None;
        }
        let first = self.rng.below(a.dims.len());
        let second = (first + 1 + self.rng.below(a.dims.len() - 1)) % a.dims.len();
        Some((first, second))
    }

    fn diagonal(&mut self, a: &Array) -> Step {
        let (p, q) = self.pair(a)?;
        let label = self.name("d");
        let (x, y) = (&a.dims[p], &a.dims[q]);
        let lo = [x.lo, y.lo].into_iter().flatten().max();
        let hi = [x.hi, y.hi].into_iter().flatten().min();
        if matches!((lo, hi), (Some(lo), Some(hi)) if hi <= lo) {
            return None;
        }
        let rest = a.dims.iter().enumerate().filter(|(at, _)| *at != p && *at != q);
        let dims =
            std::iter::once(Dim { label: label.clone(), lo, hi }).chain(rest.map(|(_, dim)| dim.clone()));
        let text = format!(".diagonal([{}, {}], {label})", dim_name(a, p), dim_name(a, q));
        Some((text, with(a, dims.collect())))
    }

    fn add_dim(&mut self, a: &Array) -> Step {
        if a.dims.len() > 3 {
            return None;
        }
        let label = self.name("n");
        let dims = std::iter::once(Dim::new(&label, 0, 1)).chain(a.dims.iter().cloned());
        Some((format!(".add_dim({label})"), with(a, dims.collect())))
    }

    fn at(&mut self, a: &Array) -> Step {
        let at = self.rng.below(a.dims.len());
        let place = self.place(&a.dims[at]);
        let text = format!(".at({{{}: {place}}})", dim_name(a, at));
        let mut dims = a.dims.clone();
        dims.remove(at);
        (!dims.is_empty()).then(|| (text, with(a, dims)))
    }

    fn places(&mut self, dim: &Dim, count: usize) -> Vec<i64> {
        (0..count).map(|_| self.place(dim)).collect()
    }

    fn oindex(&mut self, a: &Array) -> Step {
        let (at, count) = (self.rng.below(a.dims.len()), 1 + self.rng.below(4));
        let places = self.places(&a.dims[at].clone(), count);
        let mut dims = a.dims.clone();
        dims[at] = Dim::new("_", 0, count as i64);
        Some((format!(".oindex({{{}: [{}]}})", dim_name(a, at), list(&places)), picked(a, dims)))
    }

    fn vindex(&mut self, a: &Array) -> Step {
        let (p, q) = self.pair(a)?;
        let count = 1 + self.rng.below(4);
        let label = self.name("n");
        let (one, two) = (self.places(&a.dims[p].clone(), count), self.places(&a.dims[q].clone(), count));
        let rest = a.dims.iter().enumerate().filter(|(at, _)| *at != p && *at != q);
        let first = std::iter::once(Dim::new(&label, 0, count as i64));
        let dims = first.chain(rest.map(|(_, dim)| dim.clone())).collect();
        let (x, y) = (dim_name(a, p), dim_name(a, q));
        let text = format!(".vindex({{{x}: [{}], {y}: [{}]}}, {label})", list(&one), list(&two));
        Some((text, picked(a, dims)))
    }

    fn implicit(&mut self, a: &Array) -> Step {
        let at = self.rng.below(a.dims.len());
        (!a.indexed).then(|| (format!(".implicit([{}])", dim_name(a, at)), a.clone()))
    }

    /// Sizes whose product is `count`.
    fn factors(&mut self, count: i64) -> Vec<i64> {
        let mut sizes = Vec::new();
        let mut rest = count;
        for factor in [2, 3, 2, 5, 3] {
            if rest % factor == 0 && rest > 1 && sizes.len() < 3 && self.rng.chance(60) {
                sizes.push(factor);
                rest /= factor;
            }
        }
        sizes.push(rest);
        self.rng.shuffle(&mut sizes);
        sizes
    }

    fn reshape(&mut self, a: &Array) -> Step {
        let sizes = self.factors(a.len()?);
        let mut shown = sizes.clone();
        if self.rng.chance(30) {
            let at = self.rng.below(shown.len());
            shown[at] = -1;
        }
        Some((format!(".reshape([{}])", list(&shown)), with(a, from_zero(&sizes))))
    }

    fn expand(&mut self, a: &Array) -> Step {
        let single: Vec<usize> = (0..a.dims.len()).filter(|at| a.dims[*at].len() == Some(1)).collect();
        if single.is_empty() && a.dims.len() > 3 || a.len().is_some_and(|len| len > MOST / 4) {
            return None;
        }
        let mut texts = vec!["_".to_owned(); a.dims.len()];
        let mut dims = a.dims.clone();
        let size = self.rng.within(2, 3);
        match single.first() {
            Some(at) if dims[*at].lo == Some(0) => {
                texts[*at] = size.to_string();
                dims[*at].hi = Some(size);
            }
            _ if a.dims.len() < 4 => {
                texts.insert(0, size.to_string());
                dims.insert(0, Dim::new("_", 0, size));
            }
            _ => return None,
        }
        Some((format!(".expand([{}])", texts.join(", ")), with(a, dims)))
    }

    fn shrink(&mut self, a: &Array) -> Step {
        let (mut texts, mut dims) = (Vec::new(), Vec::new());
        for dim in &a.dims {
            let (from, to) = (self.place(dim), self.place(dim) + 1);
            if from >= to || self.rng.chance(30) {
                texts.push("_".to_owned());
                dims.push(dim.clone());
                continue;
            }
            texts.push(format!("{from}..{to}"));
            dims.push(Dim::new(&dim.label, 0, to - from));
        }
        let some = texts.iter().any(|text| text != "_");
        some.then(|| (format!(".shrink([{}])", texts.join(", ")), with(a, dims)))
    }

    fn flip(&mut self, a: &Array) -> Step {
        let at = self.rng.below(a.dims.len());
        let whole = a.dims[at].is_bounded() || (a.dims[at].lo.is_none() && a.dims[at].hi.is_none());
        whole.then(|| (format!(".flip([{}])", dim_name(a, at)), a.clone()))
    }

    fn pad(&mut self, a: &Array) -> Step {
        let (mut texts, mut dims) = (Vec::new(), Vec::new());
        for dim in &a.dims {
            let (before, after) = (self.rng.within(0, 2), self.rng.within(0, 2));
            match dim.len() {
                Some(len) => {
                    texts.push(format!("{before}..{after}"));
                    dims.push(Dim::new(&dim.label, 0, len + before + after));
                }
                None if dim.lo.is_none() => {
                    texts.push("_".to_owned());
                    dims.push(dim.clone());
                }
                None => return None,
            }
        }
        let value = self.constant(a.element);
        Some((format!(".pad([{}], {value})", texts.join(", ")), with(a, dims)))
    }

    fn as_strided(&mut self, a: &Array) -> Step {
        let most = a.len()?.min(a.base_len.unwrap_or(i64::MAX));
        let rank = 1 + self.rng.below(2);
        let sizes: Vec<i64> = (0..rank).map(|_| self.rng.within(1, 3)).collect();
        let strides: Vec<i64> = (0..rank).map(|_| self.rng.within(0, 4)).collect();
        let reach: i64 = sizes.iter().zip(&strides).map(|(size, stride)| (size - 1) * stride).sum();
        if reach >= most {
            return None;
        }
        let offset = self.rng.within(0, most - 1 - reach);
        let text = format!(".as_strided([{}], [{}], {offset})", list(&sizes), list(&strides));
        Some((text, with(a, from_zero(&sizes))))
    }

    /// Which dimensions a boundary opens: all with a bound, or one that is listed.
    fn opened(&mut self, name: &str, a: &Array) -> Option<(Option<String>, Vec<Dim>)> {
        let has_bound =
            |dim: &Dim| dim.is_bounded() || name != "wrap" && (dim.lo.is_some() || dim.hi.is_some());
        let bounded: Vec<usize> = (0..a.dims.len()).filter(|at| has_bound(&a.dims[*at])).collect();
        let half = a.dims.iter().any(|dim| dim.lo.is_some() != dim.hi.is_some());
        if bounded.is_empty() {
            return None;
        }
        if half && name != "wrap" {
            self.hit("boundary of one end");
        }
        let open = |dim: &Dim| Dim::endless(&dim.label);
        if !(half && name == "wrap") && self.rng.chance(70) {
            return Some((None, a.dims.iter().map(open).collect()));
        }
        let at = bounded[self.rng.below(bounded.len())];
        let mut dims = a.dims.clone();
        dims[at] = open(&dims[at]);
        Some((Some(dim_name(a, at)), dims))
    }

    fn boundary(&mut self, name: &str, a: &Array) -> Step {
        let (listed, dims) = self.opened(name, a)?;
        let list = listed.map(|label| format!("[{label}]")).unwrap_or_default();
        Some((format!(".{name}({list})"), with(a, dims)))
    }

    fn fill(&mut self, a: &Array) -> Step {
        let (listed, dims) = self.opened("fill", a)?;
        let list = listed.map(|label| format!(", [{label}]")).unwrap_or_default();
        let value = self.constant(a.element);
        Some((format!(".fill({value}{list})"), with(a, dims)))
    }

    /// A constant of that type, for fills and starts.
    pub(crate) fn constant(&mut self, element: Element) -> String {
        match element {
            Element::Bool => self.rng.pick(&["true", "false"]).to_owned(),
            _ if element.is_float() => self.rng.pick(&["0.0", "-1.5", "inf", "0.1", "3", "-0.0"]).to_owned(),
            _ if element.is_signed() => self.rng.pick(&["0", "-3", "7", "1"]).to_owned(),
            _ => self.rng.pick(&["0", "5", "200", "1"]).to_owned(),
        }
    }
}

fn squeeze(a: &Array) -> Step {
    let dims: Vec<Dim> = a.dims.iter().filter(|dim| dim.len() != Some(1)).cloned().collect();
    (dims.len() < a.dims.len() && !dims.is_empty()).then(|| (".squeeze()".into(), with(a, dims)))
}

fn with(a: &Array, dims: Vec<Dim>) -> Array {
    Array { dims, ..a.clone() }
}

/// Lists stay explicit, so such a view has its own rules.
fn picked(a: &Array, dims: Vec<Dim>) -> Array {
    Array { dims, indexed: true, ..a.clone() }
}

fn from_zero(sizes: &[i64]) -> Vec<Dim> {
    sizes.iter().map(|size| Dim::new("_", 0, *size)).collect()
}

/// A dimension by its label, or by its place.
fn dim_name(a: &Array, at: usize) -> String {
    if a.dims[at].label == "_" { at.to_string() } else { a.dims[at].label.clone() }
}

fn list(values: &[i64]) -> String {
    values.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}
