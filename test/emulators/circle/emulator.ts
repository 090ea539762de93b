import { generateKeyPairSync, type KeyObject, randomBytes, randomUUID, sign } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Networks } from '../../../src/chains/network.ts';
import { freePort } from '../../support/process.ts';
import { createChainDoor, createPretendedChains } from './chain-door.ts';
import { createFaults, type Faults } from './faults.ts';
import { type Answer, createOperations, type Operation, type Repeats } from './operations.ts';
import { CircleRefusal } from './refusal.ts';
import { createTransactionBook, type TransactionBook } from './transaction-book.ts';
import { createVault } from './vault.ts';
import { createWalletBook, type WalletBook } from './wallet-book.ts';

/** One request and what came of it. */
export interface Exchange {
  readonly at: number;
  readonly method: string;
  /** As in Circle's description, with `{id}`; undefined when there is no such operation. */
  readonly operation: string | undefined;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: IncomingMessage['headers'];
  readonly request: unknown;
  /** Undefined when no answer was given. */
  answer?: Answer;
  /** The client went away without an answer. */
  abandoned: boolean;
}

/** A local stand-in for Circle's API that remembers what it was told. */
export interface CircleEmulator {
  readonly url: string;
  readonly apiKey: string;
  readonly entitySecret: string;
  readonly wallets: WalletBook;
  readonly transactions: TransactionBook;
  readonly faults: Faults;
  readonly repeats: Repeats;
  readonly exchanges: readonly Exchange[];
  /** Signs a notification's bytes as Circle does. */
  signNotification(body: Buffer): { readonly 'x-circle-key-id': string; readonly 'x-circle-signature': string };
  /** Nobody can reach it until it is opened again, at the same address. */
  shut(): Promise<void>;
  open(): Promise<void>;
  stop(): Promise<void>;
}

export interface EmulatorOptions {
  /** Where transactions are really sent. Without it, it only pretends. */
  readonly networks?: () => Networks;
  /** How long a transaction stays in each state. */
  readonly tickMs?: number;
}

export async function startCircleEmulator({ networks, tickMs = 20 }: EmulatorOptions = {}): Promise<CircleEmulator> {
  const apiKey = `LIVE_API_KEY:${randomBytes(16).toString('hex')}:${randomBytes(16).toString('hex')}`;
  const entitySecret = randomBytes(32).toString('hex');
  const chain = networks === undefined ? createPretendedChains() : createChainDoor(networks);
  const wallets = createWalletBook();
  const transactions = createTransactionBook(chain, tickMs);
  const faults = createFaults();
  const repeats: Repeats = {};
  const exchanges: Exchange[] = [];
  const notificationKeyId = randomUUID();
  const notificationKey = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const operations = createOperations({
    vault: createVault(entitySecret),
    wallets,
    transactions,
    chain,
    repeats,
    notificationKeys: new Map([[notificationKeyId, spki(notificationKey.publicKey)]]),
  });

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = '', headers } = request;
    const { pathname: path, searchParams: query } = new URL(request.url ?? '', 'http://circle');
    const text = Buffer.concat(await request.toArray()).toString();
    const found = findOperation(operations, method, path);
    const body: unknown = text === '' ? undefined : JSON.parse(text);
    const exchange: Exchange = {
      at: performance.now(),
      method,
      operation: found?.operation.path,
      path,
      query,
      headers,
      request: body,
      abandoned: false,
    };
    exchanges.push(exchange);
    response.on('close', () => {
      exchange.abandoned = exchange.answer === undefined;
    });

    const trouble = faults.take({ method, path, body });
    if (trouble?.how === 'hang') {
      if (trouble.until === undefined) return;
      await trouble.until;
    }
    if (trouble?.how === 'drop' || trouble?.how === 'hang') return void request.socket.destroy();
    if (trouble?.how === 'nonsense') return void response.writeHead(200, { 'content-type': 'text/html' }).end('<html>');
    if (trouble?.how === 'rate-limit') {
      const { retryAfterSeconds } = trouble;
      const wait = retryAfterSeconds === undefined ? {} : { 'retry-after': String(retryAfterSeconds) };
      return send(response, exchange, { status: 429, body: { code: 429, message: 'Too many requests' } }, wait);
    }
    if (trouble?.how === 'server-error') {
      return send(response, exchange, {
        status: trouble.status ?? 500,
        body: { code: -1, message: 'Something went wrong' },
      });
    }
    const answer =
      trouble?.how === 'refuse'
        ? refusal(new CircleRefusal(trouble.status, trouble.code, trouble.message ?? 'refused'))
        : await run(found, exchange);
    if (trouble?.how === 'lose-answer') return void request.socket.destroy();
    send(response, exchange, answer);
  }

  async function run(found: Found | undefined, { headers, request, query }: Exchange): Promise<Answer> {
    try {
      if (headers.authorization !== `Bearer ${apiKey}`) throw new CircleRefusal(401, 401, 'Malformed authorization.');
      if (found === undefined) throw new CircleRefusal(404, 404, 'Not found.');
      const body = (request ?? {}) as Record<string, unknown>;
      return await found.operation.run({ body, params: found.params, query });
    } catch (error) {
      if (error instanceof CircleRefusal) return refusal(error);
      return { status: 500, body: { code: -1, message: String(error) } };
    }
  }

  const server = createServer((request, response) => void handle(request, response));
  const sockets = new Set<Socket>();
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
  });
  // Nobody is given it by chance while it is shut.
  const port = await freePort();
  const open = () => new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  const shut = () =>
    new Promise<void>((resolve) => {
      server.close(() => resolve());
      for (const socket of sockets) socket.destroy();
    });
  await open();

  return {
    url: `http://127.0.0.1:${port}`,
    apiKey,
    entitySecret,
    wallets,
    transactions,
    faults,
    repeats,
    exchanges,
    signNotification: (body) => ({
      'x-circle-key-id': notificationKeyId,
      'x-circle-signature': sign('sha256', body, notificationKey.privateKey).toString('base64'),
    }),
    open,
    shut,
    async stop() {
      transactions.stop();
      if (server.listening) await shut();
    },
  };
}

function spki(key: KeyObject): string {
  return key.export({ type: 'spki', format: 'der' }).toString('base64');
}

function refusal({ status, code, message }: CircleRefusal): Answer {
  return { status, body: { code, message } };
}

function send(
  response: ServerResponse,
  exchange: Exchange,
  answer: Answer,
  headers: Readonly<Record<string, string>> = {},
): void {
  exchange.answer = answer;
  response.writeHead(answer.status, {
    'content-type': 'application/json',
    'x-request-id': randomUUID(),
    ...answer.headers,
    ...headers,
  });
  response.end(JSON.stringify(answer.body));
}

interface Found {
  readonly operation: Operation;
  readonly params: Readonly<Record<string, string>>;
}

function findOperation(operations: readonly Operation[], method: string, path: string): Found | undefined {
  for (const operation of operations) {
    const pattern = operation.path.replace(/\{(\w+)\}/g, '(?<$1>[^/]+)');
    const match = new RegExp(`^${pattern}$`).exec(path);
    if (operation.method === method && match !== null) return { operation, params: { ...match.groups } };
  }
  return undefined;
}
