//! A seed -> a script that the checker accepts, and slices to read.

use crate::coverage::Features;
use crate::scope::{Array, Back, Dim, Function, Gen, Scope, Table, Var};
use crate::tree::{Item, Node, Script};
use crate::views::OPS;
use itp::graph::types::{Element, Ty};

const LABELS: [&str; 4] = ["y", "x", "z", "w"];
const LEVELS: [&str; 6] =
    ["dense", "sparse_list", "sparse_dict", "sparse_bytemap", "run_list", "sparse_band"];

/// The script of a seed and what it uses.
pub(crate) fn generate(seed: u64) -> (Script, Features) {
    let mut made = Gen::new(seed);
    made.constants();
    made.sources();
    for _ in 0..1 + made.rng.below(6) {
        made.tensor();
        if made.rng.chance(35) {
            made.view();
        }
    }
    made.sets();
    let mut reads: Vec<String> = (0..1 + made.rng.below(3)).map(|_| made.slice_to_read()).collect();
    if made.rng.chance(12) {
        reads.extend(made.far());
    }
    let uses = made.uses.iter().map(|module| format!("use {module}"));
    let uses = uses.map(|head| Item { head, clauses: Vec::new(), body: None });
    (Script { items: uses.chain(made.items).collect(), reads }, made.features)
}

impl Gen {
    fn constants(&mut self) {
        if self.rng.chance(50) {
            self.hit("param");
            let (name, value) = (self.name("p"), self.rng.within(-5, 9));
            self.item(format!("param {name} = {value}"), None);
            self.constants.push((name, Ty::WeakInt));
        }
        if self.rng.chance(30) {
            self.hit("typed param");
            let (name, element) = (self.name("p"), self.number_type());
            let value = self.constant(element);
            self.item(format!("param {name}: {element} = {value}"), None);
            self.constants.push((name, Ty::Strong(element)));
        }
        if self.rng.chance(40) {
            self.hit("let");
            let name = self.name("k");
            let ty = self.rng.pick(&[Ty::WeakInt, Ty::WeakFloat]);
            let value = self.value(&Scope { closed: true, ..Scope::default() }, ty, 2);
            // A table entry at a constant place is a constant, a name of a strong constant is not weak.
            self.item(format!("let {name}"), Some(value));
            self.constants.push((name, ty));
        }
        while self.rng.chance(40) && self.tables.len() < 2 {
            self.table();
        }
        while self.rng.chance(35) && self.functions.len() < 2 {
            self.function();
        }
    }

    fn table(&mut self) {
        self.hit("table item");
        let name = self.name("g");
        let ty = self.rng.pick(&[Ty::WeakInt, Ty::WeakFloat]);
        let shape: Vec<i64> = (0..1 + self.rng.below(2)).map(|_| self.rng.within(1, 4)).collect();
        let entry = |made: &mut Gen| match ty {
            Ty::WeakFloat => made.rng.pick(&["0.25", "-1.5", "2.0", "0.1", "0.0"]).to_owned(),
            Ty::Strong(_) | Ty::WeakInt => made.rng.within(-4, 6).to_string(),
        };
        let row = |made: &mut Gen, len: i64| {
            let entries: Vec<String> = (0..len).map(|_| entry(made)).collect();
            format!("[{}]", entries.join(", "))
        };
        let text = match shape[..] {
            [len] => row(self, len),
            _ => format!("[{}]", (0..shape[0]).map(|_| row(self, shape[1])).collect::<Vec<_>>().join(", ")),
        };
        self.item(format!("let {name} = {text}"), None);
        self.tables.push(Table { name, shape, ty });
    }

    fn function(&mut self) {
        self.hit("fn");
        let name = self.name("f");
        let floats = [Element::F32, Element::F64].to_vec();
        let ints = Element::ALL.into_iter().filter(|element| element.is_int()).collect();
        let (types, arity, text): (Vec<Element>, usize, &str) = match self.rng.below(5) {
            0 => (floats, 2, "(a, b = 0.5) = a * b + a / 3"),
            1 => (floats, 1, "(a) = { let h = a * 0.5; h * h - floor(a) }"),
            2 => (ints, 2, "(a, b) = a * 3 + (b ^ a) // 2"),
            3 => (floats, 2, "(a, b) = if a < b then a else sum(i in 0..3) b * i"),
            _ => return self.typed_function(name),
        };
        self.item(format!("fn {name}{text}"), None);
        self.functions.push(Function { name, types, arity });
    }

    fn typed_function(&mut self, name: String) {
        let element = self.number_type();
        let ty = Ty::Strong(element);
        let lets =
            vec![("a".to_owned(), ty), ("b".to_owned(), ty), ("n".to_owned(), Ty::Strong(Element::I64))];
        let body = self.value(&Scope { closed: true, lets, ..Scope::default() }, ty, 2);
        self.item(format!("fn {name}(a: {element}, b: {element}, n: i64 = 3) -> {element}"), Some(body));
        self.functions.push(Function { name, types: vec![element], arity: 2 });
    }

    /// Inputs and variables.
    fn sources(&mut self) {
        while self.rng.chance(55) && self.arrays.len() < 2 {
            let (name, element) = (self.name("in"), self.element());
            self.hit("input");
            self.hit(format!("input of {element}"));
            let rank = self.rng.below(4);
            let mut dims: Vec<Dim> = self.labels(rank).iter().map(|label| self.bounded_dim(label)).collect();
            self.channels(&mut dims);
            let format = self.format(element, rank).map(|format| format!(" {format}")).unwrap_or_default();
            self.item(format!("input {name}: {element}[{}]{format}", dims_text(&dims)), None);
            self.array(name, element, dims, 1);
        }
        while self.rng.chance(30) && self.arrays.len() < 4 {
            let (name, element) = (self.name("v"), self.element());
            self.hit("var");
            let dims = self.dims(3);
            let start = self.constant(element);
            let chunk = self.chunk(&dims).map(|chunk| format!(" {chunk}")).unwrap_or_default();
            self.item(format!("var {name}: {element}[{}]{chunk} = {start}", dims_text(&dims)), None);
            self.array(name, element, dims, 1);
        }
    }

    fn array(&mut self, name: String, element: Element, dims: Vec<Dim>, cost: u64) -> &mut Array {
        let mut array = Array {
            name,
            element,
            dims,
            cost,
            base_len: None,
            near_only: false,
            implicit: false,
            indexed: false,
        };
        array.base_len = array.len();
        self.arrays.push(array);
        self.arrays.last_mut().expect("just pushed")
    }

    pub(crate) fn labels(&mut self, rank: usize) -> Vec<&'static str> {
        let mut labels = LABELS;
        self.rng.shuffle(&mut labels);
        labels[..rank].to_vec()
    }

    fn bounded_dim(&mut self, label: &str) -> Dim {
        let lo = if self.rng.chance(50) { 0 } else { self.rng.within(-5, 5) };
        Dim::new(label, lo, lo + self.rng.within(1, 7))
    }

    /// Up to `most` dimensions, rather two.
    pub(crate) fn dims(&mut self, most: usize) -> Vec<Dim> {
        let rank = self.rng.pick(&[0, 1, 1, 2, 2, 2, 3, 3, 4]).min(most);
        self.hit(format!("rank {rank}"));
        let mut labels = self.labels(rank);
        if rank > 1 && self.rng.chance(6) {
            self.hit("unlabelled dimension");
            labels[0] = "_";
        }
        let mut dims: Vec<Dim> = labels.iter().map(|label| self.dim(label)).collect();
        self.channels(&mut dims);
        dims
    }

    /// Sometimes the last dimension is one of channels, which lie side by side in memory.
    fn channels(&mut self, dims: &mut [Dim]) {
        if let [.., _, last] = dims
            && self.rng.chance(12)
        {
            self.hit("channels");
            let lo = if self.rng.chance(70) { 0 } else { self.rng.within(-5, 5) };
            *last = Dim::new(&last.label, lo, lo + self.rng.within(2, 4));
        }
    }

    fn dim(&mut self, label: &str) -> Dim {
        match self.rng.below(40) {
            0 => {
                self.hit("empty domain");
                Dim::new(label, 2, 2)
            }
            1 => {
                self.hit("half bounded domain");
                Dim { lo: Some(self.rng.within(-5, 5)), ..Dim::endless(label) }
            }
            2 => {
                self.hit("half bounded domain");
                Dim { hi: Some(self.rng.within(-5, 5)), ..Dim::endless(label) }
            }
            3..=18 => self.bounded_dim(label),
            _ => Dim::endless(label),
        }
    }

    fn chunk(&mut self, dims: &[Dim]) -> Option<String> {
        if !self.rng.chance(25) {
            return None;
        }
        self.hit("chunk");
        let open = dims.iter().filter(|dim| !dim.is_bounded());
        let sizes: Vec<String> = open.map(|_| self.rng.within(1, 9).to_string()).collect();
        Some(format!("chunk [{}]", sizes.join(", ")))
    }

    fn format(&mut self, element: Element, rank: usize) -> Option<String> {
        if rank == 0 || !self.rng.chance(30) {
            return None;
        }
        self.hit("format");
        let leaf = match element {
            Element::Bool if self.rng.chance(60) => "pattern".to_owned(),
            Element::Bool => format!("element({})", self.rng.chance(50)),
            // What is stored most is 0, or what nothing is smaller or larger than.
            _ if self.rng.chance(60) => format!("element({element}(0))"),
            _ if element.is_float() && self.rng.chance(30) => format!("element({element}(inf))"),
            _ => format!("element({})", self.constant(element)),
        };
        if rank > 1 && self.rng.chance(20) {
            return Some(format!("format sparse_coo({rank}, {leaf})"));
        }
        let levels: String = (0..rank).map(|_| format!("{}(", self.rng.pick(&LEVELS))).collect();
        Some(format!("format {levels}{leaf}{}", ")".repeat(rank)))
    }

    fn tensor(&mut self) {
        self.work = 0;
        match self.rng.below(20) {
            0..=10 => self.pointwise(),
            11..=16 => self.windowed(),
            _ => self.recurrence(),
        }
    }

    /// The clauses that every tensor may have.
    pub(crate) fn storage(&mut self, element: Element, dims: &[Dim]) -> Vec<String> {
        [self.chunk(dims), self.format(element, dims.len())].into_iter().flatten().collect()
    }

    pub(crate) fn finish(&mut self, element: Element, dims: Vec<Dim>, clauses: Vec<String>, body: Node) {
        let name = self.name("t");
        self.hit(format!("tensor of {element}"));
        let head = format!("tensor {name}: {element}[{}]", dims_text(&dims));
        self.items.push(Item { head, clauses, body: Some(body) });
        let cost = self.work.max(1);
        self.array(name, element, dims, cost);
    }

    /// A pointwise tensor whose bounds are not enforced: its body must hold everywhere.
    fn loose(&mut self) {
        let rank = 1 + self.rng.below(2);
        let (element, labels) = (self.element(), self.labels(rank));
        self.hit("implicit bounds");
        self.hit(format!("tensor of {element}"));
        let dims: Vec<Dim> = labels.iter().map(|label| self.bounded_dim(label)).collect();
        let endless: Vec<Dim> = labels.iter().map(|label| Dim::endless(label)).collect();
        let scope = Scope { vars: vars(&endless), ..Scope::default() };
        let body = self.value(&scope, Ty::Strong(element.computed()), 3);
        let bounds = |dim: &Dim| Some(format!("{}: {}*..{}*", dim.label, dim.lo?, dim.hi?));
        let text: Vec<String> = dims.iter().filter_map(bounds).collect();
        let name = self.name("t");
        self.item(format!("tensor {name}: {element}[{}]", text.join(", ")), Some(body));
        let cost = self.work.max(1);
        self.array(name, element, dims, cost).implicit = true;
    }

    fn pointwise(&mut self) {
        self.hit("tensor pointwise");
        if self.rng.chance(7) {
            return self.loose();
        }
        let (element, dims) = (self.element(), self.dims(4));
        let scope = Scope { vars: vars(&dims), ..Scope::default() };
        let mut ty = Ty::Strong(element.computed());
        if element != Element::Bool && self.rng.chance(10) {
            self.hit("weak body");
            ty = if element.is_float() { Ty::WeakFloat } else { Ty::WeakInt };
        }
        let depth = 2 + self.rng.below(4) as u32;
        let body = self.value(&scope, ty, depth);
        let clauses = self.storage(element, &dims);
        self.finish(element, dims, clauses, body);
    }

    /// A tensor that reads itself one or two steps back.
    fn recurrence(&mut self) {
        let element = self.element();
        let (name, rank) = (self.name("h"), 1 + self.rng.below(3));
        let labels = self.labels(rank);
        let mut dims: Vec<Dim> = labels.iter().map(|label| self.dim(label)).collect();
        if dims.iter().any(|dim| dim.len() == Some(0)) {
            dims = labels.iter().map(|label| Dim::endless(label)).collect();
        }
        let (along, reach) = (self.rng.below(rank), self.rng.within(1, 2));
        let place = match along {
            0 => "first",
            _ if along + 1 == rank => "last",
            _ => "middle",
        };
        self.hit(format!("recurrence {place}"));
        self.hit(format!("recurrence {reach}"));
        let (lo, steps) = (self.rng.within(-2, 2), self.rng.within(2, 6));
        dims[along] = Dim { lo: Some(lo), hi: Some(lo + steps), ..dims[along].clone() };
        let endless = self.rng.chance(15);
        if endless {
            dims[along].hi = None;
        }
        let ty = Ty::Strong(element.computed());
        let start_scope = Scope { vars: vars(&dims), ..Scope::default() };
        let start = self.value(&start_scope, ty, 1);
        let own = Array {
            name: name.clone(),
            element,
            dims: dims.clone(),
            cost: 1,
            base_len: None,
            near_only: false,
            implicit: false,
            indexed: false,
        };
        let back = Some(Back { array: own, dim: along, reach });
        let scope = Scope { back, ..start_scope };
        let parts = vec![start, self.some_step(&scope, ty), self.value(&scope, ty, 2)];
        let (label, op) = (&dims[along].label, if element == Element::Bool { "^" } else { "+" });
        let test = if reach == 1 { format!("{label} == {lo}") } else { format!("{label} < {}", lo + reach) };
        let body = Node::new(ty, format!("if {test} then # else # {op} #"), parts);
        let clauses = self.storage(element, &dims);
        let head = format!("tensor {name}: {element}[{}]", dims_text(&dims));
        self.items.push(Item { head, clauses, body: Some(body) });
        let cost = self.work.max(1) * steps as u64;
        self.array(name, element, dims, cost).near_only = endless;
    }

    fn view(&mut self) {
        let at = self.rng.below(self.arrays.len());
        let array = self.arrays[at].clone();
        let count = 1 + self.rng.below(3);
        let (text, view) = self.chain(&array, count, &OPS);
        self.hit("view item");
        let name = self.name("s");
        self.item(format!("view {name} = {text}"), None);
        self.arrays.push(Array { name, ..view });
    }

    /// Writes into the variables, also through views.
    fn sets(&mut self) {
        let vars: Vec<String> =
            self.items.iter().filter_map(|item| item.head.strip_prefix("var ")).map(before_colon).collect();
        for name in vars {
            for _ in 0..1 + self.rng.below(2) {
                let base = self.arrays.iter().find(|array| array.name == name).cloned();
                let base = base.expect("variables are arrays");
                let (text, view) = self.writable_chain(&base);
                if text != name {
                    self.hit("set through a view");
                }
                self.set(&text, &view);
            }
        }
    }

    fn set(&mut self, text: &str, view: &Array) {
        let (mut slices, mut dims) = (Vec::new(), Vec::new());
        for dim in &view.dims {
            if dim.is_bounded() && dim.len() < Some(6) && self.rng.chance(50) {
                slices.push(":".to_owned());
                dims.push(dim.clone());
                continue;
            }
            let lo = dim.lo.unwrap_or(dim.hi.map_or(-3, |hi| hi - 5));
            let hi = dim.hi.unwrap_or(lo + 7).min(lo + self.rng.within(1, 5));
            slices.push(format!("{lo}:{hi}"));
            dims.push(Dim { lo: Some(lo), hi: Some(hi), ..dim.clone() });
        }
        self.hit("set");
        self.work = 0;
        let scope = Scope { vars: vars(&dims), ..Scope::default() };
        let body = self.value(&scope, Ty::Strong(view.element.computed()), 2);
        let slices = if slices.is_empty() { String::new() } else { format!("[{}]", slices.join(", ")) };
        self.item(format!("set {text}{slices}"), Some(body));
    }
}

fn before_colon(text: &str) -> String {
    text.split(':').next().unwrap_or_default().to_owned()
}

/// The labelled dimensions as coordinates.
pub(crate) fn vars(dims: &[Dim]) -> Vec<Var> {
    let labelled = dims.iter().filter(|dim| dim.label != "_");
    labelled.map(|dim| Var { name: dim.label.clone(), lo: dim.lo, hi: dim.hi }).collect()
}

pub(crate) fn dims_text(dims: &[Dim]) -> String {
    let extent = |dim: &Dim| match (dim.lo, dim.hi) {
        (Some(0), Some(hi)) => hi.to_string(),
        (Some(lo), Some(hi)) => format!("{lo}..{hi}"),
        (Some(lo), None) => format!("{lo}..inf"),
        (None, Some(hi)) => format!("-inf..{hi}"),
        (None, None) => "inf".to_owned(),
    };
    dims.iter().map(|dim| format!("{}: {}", dim.label, extent(dim))).collect::<Vec<_>>().join(", ")
}
