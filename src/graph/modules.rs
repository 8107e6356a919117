//! `use`: which files make up a program, and which names each of them sees.
//!
//! A name is looked up among a file's own items, then among the items of what it uses; builtins come last.

use crate::diagnostic::{Code, Diagnostic, Diagnostics, closest, quoted};
use crate::source::{MAX_SOURCE_BYTES, SourceId, Sources};
use crate::syntax::{self, ast};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A file of the program; the script itself is 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ModuleId(pub u32);

/// An item of a module.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Symbol {
    /// Where it is declared.
    pub module: ModuleId,
    /// Its place among the items of that file.
    pub item: u32,
}

/// A parsed file and the names it declares.
#[derive(Debug)]
pub struct Module {
    /// Its items.
    pub ast: ast::Ast,
    /// Its own names.
    pub names: BTreeMap<Arc<str>, Symbol>,
    /// What it uses, in order.
    pub imports: Vec<ModuleId>,
}

/// Where files named by `use` come from.
pub trait Loader {
    /// The text of the file at `path`, which is relative to the script's folder and never leaves it.
    fn load(&self, path: &str) -> Result<String, String>;
}

/// A loader without files: for scripts that use the standard library only.
#[derive(Debug)]
pub struct NoFiles;

impl Loader for NoFiles {
    fn load(&self, _: &str) -> Result<String, String> {
        Err("this script was compiled from text, so there is no folder to look in".into())
    }
}

/// The modules of the standard library, by name. `math` is what the float functions are made of.
pub const STANDARD: [(&str, &str); 5] = [
    ("blend", include_str!("../../std/blend.itp")),
    ("filter", include_str!("../../std/filter.itp")),
    ("math", include_str!("../../std/math.itp")),
    ("noise", include_str!("../../std/noise.itp")),
    ("shade", include_str!("../../std/shade.itp")),
];

/// The text of a module of the standard library.
pub fn standard(name: &str) -> Option<&'static str> {
    STANDARD.iter().find(|(known, _)| *known == name).map(|(_, text)| *text)
}

/// All files of a program.
#[derive(Clone, Debug, Default)]
pub struct Modules {
    list: Vec<Arc<Module>>,
}

/// Files that are still to be parsed, and those that were met, by key.
struct Loading<'a> {
    sources: &'a mut Sources,
    loader: &'a dyn Loader,
    diagnostics: &'a mut Diagnostics,
    /// `std:noise` or a normalised path.
    keys: Vec<String>,
    queue: Vec<SourceId>,
    /// Bytes that further files may have together.
    room: usize,
}

impl Modules {
    /// Parses the script `root` and everything it uses.
    pub fn load(
        sources: &mut Sources,
        root: SourceId,
        loader: &dyn Loader,
        diagnostics: &mut Diagnostics,
    ) -> Modules {
        let name = &sources.get(root).name;
        let key = name.rsplit_once(['/', '\\']).map_or(&**name, |(_, file)| file).to_owned();
        let (keys, queue, room) = (vec![key], vec![root], MAX_SOURCE_BYTES);
        let mut loading = Loading { sources, loader, diagnostics, keys, queue, room };
        let mut list: Vec<Arc<Module>> = Vec::new();
        while let Some(source) = loading.queue.get(list.len()).copied() {
            let module = loading.module(ModuleId(list.len() as u32), source);
            list.push(Arc::new(module));
        }
        Modules { list }
    }

    /// Adds a module of the standard library that nothing names but everything may need.
    pub fn add_standard(
        &mut self,
        name: &str,
        sources: &mut Sources,
        diagnostics: &mut Diagnostics,
    ) -> ModuleId {
        let text = standard(name).unwrap_or_default();
        let source = sources.add(format!("std/{name}.itp"), text);
        let mut loading = Loading {
            sources,
            loader: &NoFiles,
            diagnostics,
            keys: vec![String::new()],
            queue: Vec::new(),
            room: 0,
        };
        let ast = syntax::parse(loading.sources, source, loading.diagnostics);
        let id = ModuleId(self.list.len() as u32);
        let names = loading.declare(id, &ast);
        self.list.push(Arc::new(Module { ast, names, imports: Vec::new() }));
        id
    }

    /// Adds a module that sees all that the script sees, and nothing sees: a slice from outside.
    pub fn add_reader(&mut self, ast: ast::Ast) -> ModuleId {
        let imports = std::iter::once(ModuleId(0)).chain(self.root().imports.iter().copied()).collect();
        self.list.push(Arc::new(Module { ast, names: BTreeMap::new(), imports }));
        ModuleId(self.list.len() as u32 - 1)
    }

    /// The module with that id.
    pub fn get(&self, id: ModuleId) -> &Arc<Module> {
        &self.list[id.0 as usize]
    }

    /// The script itself.
    pub fn root(&self) -> &Module {
        &self.list[0]
    }

    /// All modules, the script first.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (ModuleId, &Arc<Module>)> {
        self.list.iter().enumerate().map(|(i, module)| (ModuleId(i as u32), module))
    }

    /// The item behind a symbol.
    pub fn item(&self, symbol: Symbol) -> &ast::Item {
        &self.get(symbol.module).ast.items[symbol.item as usize]
    }

    /// What `name` means in `module`: its own item, else the item of something it uses.
    pub fn lookup(&self, module: ModuleId, name: &str) -> Option<Symbol> {
        let module = self.get(module);
        let imported = || module.imports.iter().find_map(|import| self.get(*import).names.get(name));
        module.names.get(name).or_else(imported).copied()
    }

    /// Every name that `module` sees.
    pub fn visible(&self, module: ModuleId) -> impl Iterator<Item = &str> {
        let own = self.get(module);
        let imported = own.imports.iter().flat_map(|import| self.get(*import).names.keys());
        own.names.keys().chain(imported).map(|name| &**name)
    }
}

impl Loading<'_> {
    fn module(&mut self, id: ModuleId, source: SourceId) -> Module {
        let ast = syntax::parse(self.sources, source, self.diagnostics);
        let names = self.declare(id, &ast);
        let imports = ast.items.iter().filter_map(|item| match &item.kind {
            ast::ItemKind::Use(target) => Some(target),
            _ => None,
        });
        let from = self.keys[id.0 as usize].clone();
        let imports: Vec<_> = imports.filter_map(|target| self.import(&from, target)).collect();
        Module { ast, names, imports }
    }

    fn declare(&mut self, module: ModuleId, ast: &ast::Ast) -> BTreeMap<Arc<str>, Symbol> {
        let mut names: BTreeMap<Arc<str>, (Symbol, &ast::Ident)> = BTreeMap::new();
        for (item, declared) in
            ast.items.iter().enumerate().filter_map(|(i, item)| Some((i, item.kind.name()?)))
        {
            if &*declared.name == "_" {
                self.diagnostics.push(nameless(declared));
            } else if let Some((_, first)) = names.get(&declared.name) {
                self.diagnostics.push(defined_twice(declared, first));
            } else {
                names.insert(declared.name.clone(), (Symbol { module, item: item as u32 }, declared));
            }
        }
        names.into_iter().map(|(name, (symbol, _))| (name, symbol)).collect()
    }

    fn import(&mut self, from: &str, target: &ast::UseTarget) -> Option<ModuleId> {
        let found = match target {
            ast::UseTarget::Module(name) => standard_module(name),
            ast::UseTarget::File(path) => self.file_module(from, path),
        };
        let (key, name, text) = self.diagnostics.take(found)?;
        let known = self.keys.iter().position(|known| *known == key);
        let index = known.unwrap_or_else(|| {
            self.room = self.room.saturating_sub(text.len());
            self.queue.push(self.sources.add(name, text));
            self.keys.push(key);
            self.keys.len() - 1
        });
        Some(ModuleId(index as u32))
    }

    fn file_module(
        &self,
        from: &str,
        path: &ast::StrLit,
    ) -> crate::diagnostic::Result<(String, String, Arc<str>)> {
        let key = normalise(from, &path.value).map_err(|why| {
            let message = format!("cannot use {}: {why}", quoted(&path.value));
            Diagnostic::new(Code::E0203, message)
                .at(path.span, "leaves the script's folder")
                .help("move the file beside the script or below it, and write the path with `/`")
        })?;
        if self.keys.contains(&key) {
            return Ok((key, String::new(), "".into()));
        }
        let text = self.loader.load(&key).and_then(|text| {
            let larger =
                if text.len() > MAX_SOURCE_BYTES { "it is" } else { "the files before it and it are" };
            let fits = text.len() <= self.room;
            fits.then_some(text).ok_or_else(|| format!("{larger} larger than 16 MiB"))
        });
        match text {
            Ok(text) => Ok((key.clone(), key, text.into())),
            Err(why) => Diagnostic::new(Code::E0203, format!("cannot use {}: {why}", quoted(&path.value)))
                .at(path.span, "not found")
                .help(if path.value.ends_with(".itp") {
                    "check the path: it is relative to the file that uses it".to_owned()
                } else {
                    format!("write the ending: `use \"{}.itp\"`", path.value)
                })
                .err(),
        }
    }
}

fn standard_module(name: &ast::Ident) -> crate::diagnostic::Result<(String, String, Arc<str>)> {
    if let Some(text) = standard(&name.name) {
        return Ok((format!("std:{}", name.name), format!("std/{}.itp", name.name), text.into()));
    }
    let known = || STANDARD.iter().map(|(known, _)| *known);
    let close = closest(&name.name, known());
    let help = match close {
        Some(close) => format!("write `use {close}`"),
        None => format!(
            "choose one of {}, or name a file: `use \"{}.itp\"`",
            known().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", "),
            name.name
        ),
    };
    Diagnostic::new(Code::E0203, format!("the standard library has no module {}", quoted(&name.name)))
        .at(name.span, "unknown module")
        .fix_if(name.span, close)
        .help(help)
        .err()
}

/// `path` as seen from the file `from`, relative to the script's folder.
fn normalise(from: &str, path: &str) -> Result<String, &'static str> {
    if path.starts_with('/') || path.contains('\\') || path.contains(':') {
        return Err("the path must be relative, with `/` between its parts");
    }
    let folder = from.rsplit_once('/').map_or("", |(folder, _)| folder);
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => parts.pop().map(|_| ()).ok_or("the path leaves the script's folder")?,
            name => parts.push(name),
        }
    }
    if parts.is_empty() { Err("the path names no file") } else { Ok(parts.join("/")) }
}

fn nameless(declared: &ast::Ident) -> Diagnostic {
    Diagnostic::new(Code::E0202, "`_` names nothing, so nothing could refer to this item")
        .at(declared.span, "needs a name")
        .help("choose a name")
}

fn defined_twice(again: &ast::Ident, first: &ast::Ident) -> Diagnostic {
    Diagnostic::new(Code::E0202, format!("{} is defined twice", quoted(&again.name)))
        .at(again.span, "defined again here")
        .with(first.span, "first defined here")
        .help("rename one of them")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_stay_below_the_script() {
        let check = |from: &str, path: &str, expect: Option<&str>| {
            assert_eq!(normalise(from, path).ok().as_deref(), expect, "{from} {path}");
        };
        check("", "lib/mine.itp", Some("lib/mine.itp"));
        check("lib/mine.itp", "other.itp", Some("lib/other.itp"));
        check("lib/mine.itp", "../top.itp", Some("top.itp"));
        check("lib/mine.itp", "../../top.itp", None);
        check("", "../x.itp", None);
        check("", "/etc/passwd", None);
        check("", "c:\\x.itp", None);
        check("", ".", None);
    }
}
