// The grammar colours every example as it should, and the extension starts a client.
// Run with `npm install && npm test`.

const assert = require('node:assert');
const fs = require('node:fs');
const path = require('node:path');
const Module = require('node:module');
const oniguruma = require('vscode-oniguruma');
const { Registry, INITIAL, parseRawGrammar } = require('vscode-textmate');

const examples = process.env.ITP_EXAMPLES ?? path.join(__dirname, '../../examples');

async function grammar() {
  const wasm = fs.readFileSync(require.resolve('vscode-oniguruma/release/onig.wasm'));
  await oniguruma.loadWASM(wasm.buffer.slice(wasm.byteOffset, wasm.byteOffset + wasm.byteLength));
  const file = path.join(__dirname, 'syntaxes/itp.tmLanguage.json');
  const registry = new Registry({
    onigLib: Promise.resolve({
      createOnigScanner: (patterns) => new oniguruma.OnigScanner(patterns),
      createOnigString: (text) => new oniguruma.OnigString(text),
    }),
    loadGrammar: async () => parseRawGrammar(fs.readFileSync(file, 'utf8'), file),
  });
  return registry.loadGrammar('source.itp');
}

/** The words of a text with their innermost scope. */
function words(itp, text) {
  const found = [];
  let state = INITIAL;
  for (const line of text.split('\n')) {
    const { tokens, ruleStack } = itp.tokenizeLine(line, state);
    state = ruleStack;
    for (const token of tokens) {
      found.push([line.slice(token.startIndex, token.endIndex), token.scopes.at(-1)]);
    }
  }
  return found;
}

function scope(found, word) {
  return found.find(([text]) => text === word)?.[1];
}

async function colours() {
  const itp = await grammar();
  const found = words(itp, '## Doc.\ntensor a: f32[y: inf] = sum(i in 0..3) b.flip([y])[y + i] * fbm(1.5) # end\nuse blend');
  const expected = {
    '## Doc.': 'comment.line.documentation.itp',
    tensor: 'storage.type.itp',
    a: 'variable.other.definition.itp',
    f32: 'support.type.itp',
    inf: 'constant.language.itp',
    sum: 'support.function.reduction.itp',
    in: 'keyword.control.itp',
    flip: 'support.function.view.itp',
    '1.5': 'constant.numeric.float.itp',
    fbm: 'entity.name.function.call.itp',
    '# end': 'comment.line.number-sign.itp',
    blend: 'entity.name.namespace.itp',
  };
  for (const [word, name] of Object.entries(expected)) {
    assert.equal(scope(found, word), name, word);
  }
  const scripts = fs.readdirSync(examples).filter((name) => name.endsWith('.itp'));
  assert(scripts.length > 10);
  for (const name of scripts) {
    const plain = words(itp, fs.readFileSync(path.join(examples, name), 'utf8')).filter(([, scope]) => scope === 'source.itp');
    for (const [text] of plain) {
      // What has no colour of its own are names, labels and brackets; never a number, a keyword or a comment.
      assert(!/[0-9#"]/.test(text.replace(/[A-Za-z_][A-Za-z0-9_]*/g, '')), `${name}: ${text}`);
    }
  }
  return scripts.length;
}

/** Loads the extension with an editor that only takes notes. */
async function activation() {
  const started = [];
  const vscode = {
    workspace: {
      getConfiguration: () => ({ get: (key, fallback) => fallback }),
      createFileSystemWatcher: () => ({}),
    },
    window: { showErrorMessage: (text) => assert.fail(text) },
    commands: { registerCommand: (name) => ({ name }) },
  };
  const client = {
    TransportKind: { stdio: 0 },
    LanguageClient: class {
      constructor(id, name, server, options) {
        started.push({ id, server, options });
      }
      start() {
        return Promise.resolve();
      }
      stop() {
        return Promise.resolve();
      }
    },
  };
  const load = Module._load;
  Module._load = (request, ...rest) =>
    request === 'vscode' ? vscode : request === 'vscode-languageclient/node' ? client : load(request, ...rest);
  const extension = require('./extension.js');
  Module._load = load;
  const context = { subscriptions: [] };
  await extension.activate(context);
  assert.deepEqual(started[0].server, { command: 'itp', args: ['lsp'], transport: 0 });
  assert.equal(context.subscriptions.length, 1);
  await extension.deactivate();
}

(async () => {
  const count = await colours();
  await activation();
  console.log(`${count} examples coloured, the extension starts`);
})();
