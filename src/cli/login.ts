import { readFileSync, rmSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { Writable } from 'node:stream';
import type { Command } from 'commander';
import { readPrivate, writePrivate } from './files.ts';
import { usage } from './outcome.ts';
import { connect, type Login, loginFile, serviceUrl, usualUrl } from './session.ts';
import type { Tools } from './tools.ts';

interface LoginOptions {
  readonly url?: string;
  readonly keyFile?: string;
}

export function addLoginCommands(program: Command, { env, warn, print }: Tools): void {
  program
    .command('login')
    .description('sign in with an API key, and remember it on this machine')
    .option('--url <url>', `the service; by default PAYWRIGHT_URL or ${usualUrl}`)
    .option('--key-file <file>', 'read the API key from a file; without it, from the terminal or standard input')
    .addHelpText('after', '\nThe API key is never an argument, because other users of the machine can see those.')
    .action(async ({ url: given, keyFile }: LoginOptions) => {
      const url = serviceUrl(given || env['PAYWRIGHT_URL'] || usualUrl);
      if (isExposed(url)) warn(`${url} is not encrypted: others on the network can read your API key.`);
      const apiKey = (keyFile === undefined ? await askKey() : readFileSync(keyFile, 'utf8')).trim();
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
