// Starts `itp lsp` and lets it answer for .itp files.

const vscode = require('vscode');
const { LanguageClient, TransportKind } = require('vscode-languageclient/node');

let client;

function start() {
  const command = vscode.workspace.getConfiguration('itp').get('path', 'itp');
  const server = { command, args: ['lsp'], transport: TransportKind.stdio };
  const options = {
    documentSelector: [{ language: 'itp' }],
    synchronize: { fileEvents: vscode.workspace.createFileSystemWatcher('**/*.itp') },
  };
  client = new LanguageClient('itp', 'itp', server, options);
  return client.start().catch((error) => {
    vscode.window.showErrorMessage(`itp: cannot start \`${command} lsp\`: ${error.message}`);
  });
}

async function restart() {
  await client?.stop();
  await start();
}

exports.activate = (context) => {
  context.subscriptions.push(vscode.commands.registerCommand('itp.restart', restart));
  return start();
};

exports.deactivate = () => client?.stop();
