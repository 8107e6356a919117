//! What an expression may use: coordinates and where they lie, names of values, arrays and their domains.

use crate::coverage::Features;
use crate::rng::Rng;
use crate::tree::{Item, Node};
use itp::graph::types::{Element, Ty};

/// One dimension of an array: half open, `None` is without end.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Dim {
    /// `_` for none.
    pub label: String,
    pub lo: Option<i64>,
    pub hi: Option<i64>,
}

/// A tensor or view that can be read.
#[derive(Clone, Debug)]
pub(crate) struct Array {
    pub name: String,
    pub element: Element,
    pub dims: Vec<Dim>,
    /// What one element costs to compute, in operations.
    pub cost: u64,
    /// Elements of the base, if it has an end.
    pub base_len: Option<i64>,
    /// Far coordinates would recurse too deeply.
    pub near_only: bool,
    /// Slices may go beyond its bounds.
    pub implicit: bool,
    /// Some dimension picks from a list.
    pub indexed: bool,
}

/// A coordinate: a label, a local coordinate, a variable of a reduction.
#[derive(Clone, Debug)]
pub(crate) struct Var {
    pub name: String,
    pub lo: Option<i64>,
    pub hi: Option<i64>,
}

/// The tensor that is being defined, read `1..=reach` steps back along `dim`.
#[derive(Clone, Debug)]
pub(crate) struct Back {
    pub array: Array,
    pub dim: usize,
    pub reach: i64,
}

/// What is visible where an expression stands.
#[derive(Clone, Default)]
pub(crate) struct Scope {
    pub vars: Vec<Var>,
    pub lets: Vec<(String, Ty)>,
    pub takes: Vec<Array>,
    pub back: Option<Back>,
    /// How often what stands here is evaluated per element.
    pub times: u64,
    /// Top-level arrays are out of sight (blends, functions).
    pub closed: bool,
}

/// A table of constants.
#[derive(Clone)]
pub(crate) struct Table {
    pub name: String,
    pub shape: Vec<i64>,
    pub ty: Ty,
}

/// A function that takes and gives values of one type.
#[derive(Clone)]
pub(crate) struct Function {
    pub name: String,
    /// The types it works for.
    pub types: Vec<Element>,
    pub arity: usize,
}

/// The state of the generator.
pub(crate) struct Gen {
    pub rng: Rng,
    pub items: Vec<Item>,
    pub arrays: Vec<Array>,
    pub tables: Vec<Table>,
    /// Top-level constants.
    pub constants: Vec<(String, Ty)>,
    pub functions: Vec<Function>,
    /// The function over an array of two dimensions, once there is one.
    pub near: Option<String>,
    pub uses: Vec<&'static str>,
    pub features: Features,
    /// Operations that one element of the tensor being made needs.
    pub work: u64,
    pub fresh: usize,
}

pub(crate) const BOOL: Ty = Ty::Strong(Element::Bool);

/// Operations per element at which expressions stop growing.
pub(crate) const MOST_WORK: u64 = 1500;

impl Dim {
    pub(crate) fn new(label: &str, lo: i64, hi: i64) -> Self {
        Dim { label: label.to_owned(), lo: Some(lo), hi: Some(hi) }
    }

    pub(crate) fn endless(label: &str) -> Self {
        Dim { label: label.to_owned(), lo: None, hi: None }
    }

    pub(crate) fn len(&self) -> Option<i64> {
        Some(self.hi? - self.lo?)
    }

    pub(crate) fn is_bounded(&self) -> bool {
        self.lo.is_some() && self.hi.is_some()
    }
}

impl Array {
    pub(crate) fn len(&self) -> Option<i64> {
        self.dims.iter().map(Dim::len).product()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.dims.iter().any(|dim| dim.len() == Some(0))
    }

    /// What reading one of its elements adds to the cost of a reader: few elements are computed once and for all.
    pub(crate) fn read_cost(&self) -> u64 {
        match self.base_len {
            Some(len) if len <= 64 => 4,
            Some(_) | None => 2 + self.cost / 2,
        }
    }
}

impl Gen {
    pub(crate) fn new(seed: u64) -> Self {
        Gen {
            rng: Rng::new(seed),
            items: Vec::new(),
            arrays: Vec::new(),
            tables: Vec::new(),
            constants: Vec::new(),
            functions: Vec::new(),
            near: None,
            uses: Vec::new(),
            features: Features::default(),
            work: 0,
            fresh: 0,
        }
    }

    /// A name that nothing has.
    pub(crate) fn name(&mut self, start: &str) -> String {
        self.fresh += 1;
        format!("{start}{}", self.fresh)
    }

    pub(crate) fn hit(&mut self, feature: impl AsRef<str>) {
        self.features.hit(feature.as_ref());
    }

    pub(crate) fn item(&mut self, head: impl Into<String>, body: Option<Node>) {
        self.items.push(Item { head: head.into(), clauses: Vec::new(), body });
    }

    /// Counts one more operation at this place.
    pub(crate) fn spend(&mut self, scope: &Scope, operations: u64) {
        self.work += operations * scope.times.max(1);
    }

    pub(crate) fn element(&mut self) -> Element {
        const FLOATS: [Element; 3] = [Element::F16, Element::F32, Element::F64];
        if self.rng.chance(25) { self.rng.pick(&FLOATS) } else { self.rng.pick(&Element::ALL) }
    }

    /// A number type that values are computed in.
    pub(crate) fn number_type(&mut self) -> Element {
        loop {
            let element = self.element().computed();
            if element != Element::Bool {
                return element;
            }
        }
    }
}
