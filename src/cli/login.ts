import { readFileSync, rmSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { Writable } from 'node:stream';
import type { Command } from 'commander';
import { askInBrowser } from './browser-login.ts';
import { readPrivate, writePrivate } from './files.ts';
import { usage } from './outcome.ts';
import { connect, type Login, loginFile, serviceUrl, usualUrl } from './session.ts';
import type { Tools } from './tools.ts';

interface LoginOptions {
  readonly url?: string;
  readonly keyFile?: string | undefined;
  /** Undefined where the person did not say. */
  readonly browser?: boolean | undefined;
}

export function addLoginCommands(program: Command, tools: Tools): void {
  const { env, warn, print } = tools;
  program
    .command('login')
    .description('sign in, and remember the key on this machine')
    .option('--url <url>', `the service; by default PAYWRIGHT_URL or ${usualUrl}`)
    .option('--key-file <file>', 'read an API key from a file')
    .option('--browser', 'connect this machine on the website; the default at a terminal')
    .option('--no-browser', 'type an API key instead, such as on a machine without a browser')
    .addHelpText('after', about)
    .action(async ({ url: given, keyFile, browser }: LoginOptions) => {
      const url = serviceUrl(given || env['PAYWRIGHT_URL'] || usualUrl);
      if (isExposed(url)) warn(`${url} is not encrypted: others on the network can read your API key.`);
      const apiKey = (await readKey(url, { keyFile, browser }, tools)).trim();
      if (!/^pa_live_[\x21-\x7e]+$/.test(apiKey)) throw usage('That is not an API key: it begins with pa_live_.');
      const { handle, name } = await connect(url, apiKey).accounts.get();
      const file = loginFile(env);
      writePrivate(file, { url, apiKey, handle } satisfies Login);
      print({ url, handle, name, file }, `Signed in to ${url} as ${handle} (${name}). The key is in ${file}.`);
    });

  program
    .command('logout')
    .description('forget the API key on this machine; it stays valid until it is revoked')
    .action(() => {
      const file = loginFile(env);
      const stored = readPrivate<Login>(file, warn);
      rmSync(file, { force: true });
      print(
        { signedOut: stored !== undefined },
        stored === undefined
          ? 'You were not signed in.'
          : `Signed out of ${stored.url}. The key stays valid until you revoke it.`,
      );
    });
}

const about = `
At a terminal it opens the browser: sign in there, and say what this machine may do and spend. Without a terminal it reads an API key from
standard input. The API key is never an argument, because other users of the machine can see those.`;

async function readKey(url: string, { keyFile, browser }: LoginOptions, tools: Tools): Promise<string> {
  if (keyFile !== undefined) return readFileSync(keyFile, 'utf8');
  return (browser ?? process.stdin.isTTY) ? askInBrowser(url, tools) : askKey();
}

function isExposed(url: string): boolean {
  const { protocol, hostname } = new URL(url);
  return protocol === 'http:' && !/^(localhost|127(\.\d+){3}|\[::1\])$/.test(hostname);
}

/** From the terminal without showing it, or all of standard input. */
async function askKey(): Promise<string> {
  const { stdin, stderr } = process;
  if (!stdin.isTTY) {
    const chunks: Buffer[] = [];
    for await (const chunk of stdin) chunks.push(chunk as Buffer);
    return Buffer.concat(chunks).toString('utf8');
  }
  stderr.write('API key: ');
  const silent = new Writable({ write: (_chunk, _encoding, done) => done() });
  const terminal = createInterface({ input: stdin, output: silent, terminal: true });
  return new Promise((resolve, reject) => {
    terminal.once('line', (line) => {
      resolve(line);
      terminal.close();
      stderr.write('\n');
    });
    // Ctrl-C and Ctrl-D.
    terminal.once('close', () => reject(usage('No API key was given.')));
  });
}
