//! The texts that the editor has open, and the files around them.
//!
//! A script may use files: those that are open are read as they are in the editor, saved or not.

use super::analysis::{Analysis, analyse};
use super::places::{self, Lines};
use crate::engine::files::Folder;
use crate::graph::modules::Loader;
use lsp_types::TextDocumentContentChangeEvent as Change;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// An open text.
pub(super) struct Document {
    /// The file behind it; a text that was never saved has none.
    pub(super) path: Option<PathBuf>,
    /// As it is in the editor.
    pub(super) text: Arc<str>,
    /// The editor's number for that state.
    pub(super) version: i32,
    /// What was found out about it; it may be about an earlier state.
    analysis: Option<Arc<Analysis>>,
    /// Whether this or another open text changed since.
    stale: bool,
    /// Whether the editor was told about this state.
    pub(super) told: bool,
}

/// All open texts, by address.
#[derive(Default)]
pub(super) struct Documents {
    open: BTreeMap<String, Document>,
}

impl Documents {
    /// Takes a text in.
    pub(super) fn open(&mut self, uri: &str, text: &str, version: i32) {
        let path = places::path(uri).map(|path| path.canonicalize().unwrap_or(path));
        let document =
            Document { path, text: text.into(), version, analysis: None, stale: true, told: false };
        self.open.insert(uri.to_owned(), document);
        self.forget();
    }

    /// Forgets a text; whoever uses its file reads it from the disk again.
    pub(super) fn close(&mut self, uri: &str) {
        self.open.remove(uri);
        self.forget();
    }

    /// Changes a text, edit by edit.
    pub(super) fn change(&mut self, uri: &str, changes: Vec<Change>, version: i32) {
        let Some(document) = self.open.get_mut(uri) else { return };
        let mut text = document.text.to_string();
        for change in changes {
            match change.range {
                None => text = change.text,
                Some(range) => {
                    let bytes = Lines::new(&text).bytes(range);
                    text.replace_range(bytes, &change.text);
                }
            }
        }
        document.text = text.into();
        document.version = version;
        self.forget();
    }

    /// Any open script may use any other, or a file that was saved.
    pub(super) fn forget(&mut self) {
        for document in self.open.values_mut() {
            document.stale = true;
            document.told = false;
        }
    }

    /// The text with that address.
    pub(super) fn get(&self, uri: &str) -> Option<&Document> {
        self.open.get(uri)
    }

    /// The address that the editor uses for a file.
    pub(super) fn uri_of(&self, path: &Path) -> String {
        let known = self.open.iter().find(|(_, document)| document.path.as_deref() == Some(path));
        known.map_or_else(|| places::uri(path), |(uri, _)| uri.clone())
    }

    /// All addresses.
    pub(super) fn uris(&self) -> Vec<String> {
        self.open.keys().cloned().collect()
    }

    /// What is known about a text as it is now.
    pub(super) fn analysis(&mut self, uri: &str) -> Option<Arc<Analysis>> {
        let document = self.open.get(uri)?;
        if !document.stale
            && let Some(analysis) = &document.analysis
        {
            return Some(analysis.clone());
        }
        let previous = document.analysis.clone();
        let (path, text) = (document.path.clone(), document.text.clone());
        let analysis =
            Arc::new(analyse(path.as_deref(), text, &self.files(path.as_deref()), previous.as_deref()));
        let document = self.open.get_mut(uri)?;
        document.analysis = Some(analysis.clone());
        document.stale = false;
        Some(analysis)
    }

    /// Notes that the editor knows what is wrong with a text.
    pub(super) fn set_told(&mut self, uri: &str) {
        if let Some(document) = self.open.get_mut(uri) {
            document.told = true;
        }
    }

    /// The files that a script can use.
    pub(super) fn files(&self, script: Option<&Path>) -> Files<'_> {
        Files { documents: self, folder: script.map(Folder::of) }
    }
}

/// The files around a script, as the editor shows them or else as they are saved.
pub(super) struct Files<'d> {
    documents: &'d Documents,
    folder: Option<Folder>,
}

impl Loader for Files<'_> {
    fn load(&self, path: &str) -> Result<String, String> {
        let Some(folder) = &self.folder else {
            return Err("save the script first: it has no folder".to_owned());
        };
        let file = folder.path.join(path);
        let file = file.canonicalize().unwrap_or(file);
        let open = self.documents.open.values().find(|document| document.path.as_deref() == Some(&*file));
        match open {
            Some(document) => Ok(document.text.to_string()),
            None => folder.load(path),
        }
    }
}
