//! Which answer belongs to which request.

use super::analysis::{Analysis, ROOT};
use super::documents::Documents;
use super::occurrences::Meaning;
use super::places::Lines;
use super::{Library, completion, fixes, hover, rename, symbols};
use crate::diagnostic::Diagnostics;
use crate::source::Span;
use crate::syntax;
use lsp_server::{ErrorCode, Notification, Request, Response};
use lsp_types::request as ask;
use lsp_types::{
    DidChangeTextDocumentParams, DidCloseTextDocumentParams, DidOpenTextDocumentParams, Position, Range,
    TextDocumentPositionParams, TextEdit,
};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// What this server can do, as `initialize` answers.
pub(super) fn capabilities() -> Value {
    json!({
        "positionEncoding": "utf-16",
        "textDocumentSync": { "openClose": true, "change": 2, "save": true },
        "hoverProvider": true,
        "definitionProvider": true,
        "referencesProvider": true,
        "documentHighlightProvider": true,
        "renameProvider": { "prepareProvider": true },
        "completionProvider": { "triggerCharacters": ["."] },
        "documentFormattingProvider": true,
        "documentSymbolProvider": true,
        "inlayHintProvider": true,
        "codeActionProvider": { "codeActionKinds": ["quickfix"] },
        "semanticTokensProvider": {
            "legend": { "tokenTypes": symbols::TOKEN_TYPES, "tokenModifiers": [] },
            "full": true,
        },
    })
}

/// The open texts and what the editor was told about them.
pub(super) struct Server {
    documents: Documents,
    library: Library,
    /// Files whose marks have to be taken away when nothing is wrong any more.
    marked: BTreeSet<String>,
}

/// Why there is no answer, as the editor shows it.
struct Refusal {
    code: ErrorCode,
    message: String,
}

type Answer = Result<Value, Refusal>;

/// A text, and the name that was asked about, if there is one at the place.
type Found = (Arc<Analysis>, Option<(Span, Meaning)>);

impl Server {
    /// Nothing is open yet.
    pub(super) fn new(library: Library) -> Server {
        Server { documents: Documents::default(), library, marked: BTreeSet::new() }
    }

    /// Takes note of what the editor tells.
    pub(super) fn note(&mut self, told: Notification) {
        match told.method.as_str() {
            "textDocument/didOpen" => {
                let Ok(DidOpenTextDocumentParams { text_document }) = serde_json::from_value(told.params)
                else {
                    return;
                };
                self.documents.open(text_document.uri.as_str(), &text_document.text, text_document.version);
            }
            "textDocument/didChange" => {
                let Ok(DidChangeTextDocumentParams { text_document, content_changes }) =
                    serde_json::from_value(told.params)
                else {
                    return;
                };
                self.documents.change(text_document.uri.as_str(), content_changes, text_document.version);
            }
            "textDocument/didClose" => {
                let Ok(DidCloseTextDocumentParams { text_document }) = serde_json::from_value(told.params)
                else {
                    return;
                };
                self.documents.close(text_document.uri.as_str());
            }
            "textDocument/didSave" | "workspace/didChangeWatchedFiles" => self.documents.forget(),
            _ => {}
        }
    }

    /// The marks of every text that changed, and of the files they use.
    pub(super) fn tell_all(&mut self) -> Vec<Notification> {
        let open = self.documents.uris();
        let changed: Vec<String> = open.iter().filter(|uri| self.is_untold(uri)).cloned().collect();
        // A change of one text makes all of them untold: another may use it.
        if changed.is_empty() && !open.is_empty() {
            return Vec::new();
        }
        // A mistake of ours in one text leaves the others.
        let marks = |server: &mut Server, uri: &str| {
            let analysis = server.documents.analysis(uri)?;
            Some(fixes::marks(&server.documents, &analysis, uri))
        };
        let mut all = std::collections::BTreeMap::new();
        for uri in &changed {
            let made = catch_unwind(AssertUnwindSafe(|| marks(self, uri))).ok().flatten();
            for (place, marks) in made.unwrap_or_default() {
                // What is open speaks for itself.
                if place == *uri || self.documents.get(&place).is_none() {
                    all.insert(place, marks);
                }
            }
            self.documents.set_told(uri);
        }
        let gone = self.marked.iter().filter(|uri| !all.contains_key(*uri)).cloned().collect::<Vec<_>>();
        gone.into_iter().for_each(|uri| _ = all.insert(uri, Vec::new()));
        self.marked = all.iter().filter(|(_, marks)| !marks.is_empty()).map(|(uri, _)| uri.clone()).collect();
        let told = |(uri, marks): (String, Vec<lsp_types::Diagnostic>)| {
            let version = self.documents.get(&uri).map(|document| document.version);
            let params = json!({ "uri": uri, "version": version, "diagnostics": marks });
            Notification::new("textDocument/publishDiagnostics".to_owned(), params)
        };
        all.into_iter().map(told).collect()
    }

    fn is_untold(&self, uri: &str) -> bool {
        self.documents.get(uri).is_some_and(|document| !document.told)
    }

    /// The answer to a request.
    pub(super) fn answer(&mut self, request: Request) -> Response {
        let params = request.params;
        let answer = match request.method.as_str() {
            "textDocument/hover" => self.hover(params),
            "textDocument/definition" => self.definition(params),
            "textDocument/references" => self.references(params),
            "textDocument/documentHighlight" => self.highlights(params),
            "textDocument/prepareRename" => self.prepare_rename(params),
            "textDocument/rename" => self.rename(params),
            "textDocument/completion" => self.completion(params),
            "textDocument/formatting" => self.formatting(params),
            "textDocument/documentSymbol" => self.outline(params),
            "textDocument/inlayHint" => self.hints(params),
            "textDocument/codeAction" => self.code_actions(params),
            "textDocument/semanticTokens/full" => self.tokens(params),
            method => {
                Err(Refusal { code: ErrorCode::MethodNotFound, message: format!("`{method}` is not known") })
            }
        };
        match answer {
            Ok(value) => Response::new_ok(request.id, value),
            Err(refusal) => Response::new_err(request.id, refusal.code as i32, refusal.message),
        }
    }

    fn analysis(&mut self, uri: &lsp_types::Uri) -> Result<Arc<Analysis>, Refusal> {
        self.documents
            .analysis(uri.as_str())
            .ok_or_else(|| invalid(format!("`{}` is not open", uri.as_str())))
    }

    /// What stands at a place of a text.
    fn at(&mut self, place: &TextDocumentPositionParams) -> Result<Found, Refusal> {
        let analysis = self.analysis(&place.text_document.uri)?;
        let byte = Lines::new(analysis.text()).byte(place.position);
        let found = rename::meaning_at(&analysis, byte);
        Ok((analysis, found))
    }

    fn hover(&mut self, params: Value) -> Answer {
        let place = read::<ask::HoverRequest>(params)?.text_document_position_params;
        let (analysis, found) = self.at(&place)?;
        let Some((span, meaning)) = found else { return Ok(Value::Null) };
        let value = hover::hover(&analysis, span, meaning);
        Ok(
            json!({ "contents": { "kind": "markdown", "value": value }, "range": fixes::range(&analysis, span) }),
        )
    }

    fn definition(&mut self, params: Value) -> Answer {
        let place = read::<ask::GotoDefinition>(params)?.text_document_position_params;
        let (analysis, found) = self.at(&place)?;
        let Some((_, meaning)) = found else { return Ok(Value::Null) };
        let uri = place.text_document.uri.as_str();
        let own = rename::definition(&self.documents, &analysis, uri, meaning);
        Ok(json!(own.or_else(|| rename::library_definition(&analysis, meaning, self.library))))
    }

    fn references(&mut self, params: Value) -> Answer {
        let asked = read::<ask::References>(params)?;
        let (place, context) = (asked.text_document_position, asked.context);
        let (analysis, found) = self.at(&place)?;
        let Some((_, meaning)) = found else { return Ok(Value::Null) };
        let uri = place.text_document.uri.as_str();
        let home = rename::definition(&self.documents, &analysis, uri, meaning);
        let mut all = rename::locations(&rename::places_of(&mut self.documents, &analysis, uri, meaning));
        all.retain(|place| context.include_declaration || Some(place) != home.as_ref());
        Ok(json!(all))
    }

    fn highlights(&mut self, params: Value) -> Answer {
        let (analysis, found) =
            self.at(&read::<ask::DocumentHighlightRequest>(params)?.text_document_position_params)?;
        let Some((_, meaning)) = found else { return Ok(Value::Null) };
        let here = analysis.names.iter().filter(|name| name.meaning == meaning && name.span.source == ROOT);
        let here = here.filter(|_| !matches!(meaning, Meaning::Builtin | Meaning::Type));
        let ranges: Vec<Value> =
            here.map(|name| json!({ "range": fixes::range(&analysis, name.span) })).collect();
        Ok(json!(ranges))
    }

    fn prepare_rename(&mut self, params: Value) -> Answer {
        let place = read::<ask::PrepareRenameRequest>(params)?;
        let (analysis, found) = self.at(&place)?;
        let Some((span, meaning)) = found else { return Ok(Value::Null) };
        rename::can_rename(&self.documents, &analysis, place.text_document.uri.as_str(), meaning)
            .map_err(invalid)?;
        Ok(json!(fixes::range(&analysis, span)))
    }

    fn rename(&mut self, params: Value) -> Answer {
        let asked = read::<ask::Rename>(params)?;
        let (place, new_name) = (asked.text_document_position, asked.new_name);
        let (analysis, found) = self.at(&place)?;
        let Some((_, meaning)) = found else { return Err(invalid("there is no name here".to_owned())) };
        let uri = place.text_document.uri.as_str();
        rename::rename(&mut self.documents, &analysis, uri, meaning, &new_name).map_err(invalid)
    }

    fn completion(&mut self, params: Value) -> Answer {
        let place = read::<ask::Completion>(params)?.text_document_position;
        let analysis = self.analysis(&place.text_document.uri)?;
        let byte = Lines::new(analysis.text()).byte(place.position);
        Ok(json!(completion::completions(&analysis, byte)))
    }

    fn formatting(&mut self, params: Value) -> Answer {
        let text_document = read::<ask::Formatting>(params)?.text_document;
        let analysis = self.analysis(&text_document.uri)?;
        let formatted = syntax::format(&analysis.sources, ROOT, &mut Diagnostics::default());
        let Some(new_text) = formatted.filter(|text| text != analysis.text()) else { return Ok(json!([])) };
        let end = Lines::new(analysis.text()).position(analysis.text().len());
        Ok(json!([TextEdit { range: Range::new(Position::new(0, 0), end), new_text }]))
    }

    fn outline(&mut self, params: Value) -> Answer {
        let text_document = read::<ask::DocumentSymbolRequest>(params)?.text_document;
        Ok(json!(symbols::outline(&*self.analysis(&text_document.uri)?)))
    }

    fn hints(&mut self, params: Value) -> Answer {
        let asked = read::<ask::InlayHintRequest>(params)?;
        let (text_document, range) = (asked.text_document, asked.range);
        let analysis = self.analysis(&text_document.uri)?;
        let bytes = Lines::new(analysis.text()).bytes(range);
        Ok(json!(symbols::hints(&analysis, bytes)))
    }

    fn code_actions(&mut self, params: Value) -> Answer {
        let asked = read::<ask::CodeActionRequest>(params)?;
        let (text_document, range) = (asked.text_document, asked.range);
        let analysis = self.analysis(&text_document.uri)?;
        let uri = text_document.uri.as_str();
        let bytes = Lines::new(analysis.text()).bytes(range);
        let remedies = fixes::remedies(&analysis, bytes);
        let actions = remedies.into_iter().map(|remedy| {
            json!({
                "title": remedy.title,
                "kind": "quickfix",
                "isPreferred": remedy.diagnostic.fix.is_some(),
                "edit": { "changes": { uri: [remedy.edit] } },
            })
        });
        Ok(Value::Array(actions.collect()))
    }

    fn tokens(&mut self, params: Value) -> Answer {
        let text_document = read::<ask::SemanticTokensFullRequest>(params)?.text_document;
        let data = symbols::tokens(&*self.analysis(&text_document.uri)?);
        Ok(json!(lsp_types::SemanticTokens { result_id: None, data }))
    }
}

fn read<R: ask::Request>(params: Value) -> Result<R::Params, Refusal> {
    serde_json::from_value(params).map_err(|error| invalid(format!("the request cannot be read: {error}")))
}

fn invalid(message: String) -> Refusal {
    Refusal { code: ErrorCode::InvalidParams, message }
}
