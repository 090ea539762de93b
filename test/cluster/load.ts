import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Client, createClient } from '../support/client.ts';

/** What was acknowledged, which the proof looks for. */
export interface Acknowledged {
  readonly feature: string;
  readonly handle: string;
  /** The account that a transfer pays. */
  readonly to?: string;
  readonly id: string;
  /** In the currency's own text. */
  readonly amount: string;
}

/** One request until it was answered. */
interface Answered {
  readonly path: string;
  readonly at: number;
  readonly attempts: number;
}

export interface Load {
  readonly acknowledged: Acknowledged[];
  readonly answered: Answered[];
  /** Every answer that was wrong. The proof wants none. */
  readonly wrong: string[];
  /** The accounts that are told of each payment they receive. */
  readonly subscribers: ReadonlySet<string>;
  /** How often each instance refused a key that it had accepted until it was revoked. */
  readonly refused: ReadonlyMap<string, number>;
  /** Attempts without an answer, or that were told to come again. */
  lost: number;
  stop(): Promise<void>;
}

export interface LoadOptions {
  readonly url: string;
  /** Each instance, for what all of them have to know at once. */
  readonly instances: readonly string[];
  readonly workers: number;
  /** Where withdrawals go. */
  readonly outside: string;
  readonly receiver: string;
}

const attemptMs = 10_000;
const patienceMs = 240_000;

/** After these, and after no answer at all, the same request is sent again. */
const again = new Set(['unavailable', 'outcome_unknown', 'idempotency_in_progress', 'chain_not_available']);

interface Reply {
  readonly status: number;
  // biome-ignore lint/suspicious/noExplicitAny: whatever the operation answers
  readonly body: any;
}

interface Asked {
  readonly method?: string;
  readonly body?: object;
  readonly key: string;
  /** It needs a shop or a seller, whose stand-in is in one of the instances. */
  readonly needsOther?: boolean;
  readonly onLost?: () => void;
  /** Between two attempts. */
  readonly pauseMs?: number;
}

/** Sends a request with one Idempotency-Key until it is answered. */
async function askUntilAnswered(
  url: string,
  path: string,
  { method = 'POST', body, key, onLost, pauseMs = 250 }: Asked,
): Promise<Reply & { readonly attempts: number }> {
  const headers = {
    authorization: `Bearer ${key}`,
    ...(body && { 'content-type': 'application/json' }),
    ...(method !== 'GET' && { 'idempotency-key': randomUUID() }),
  };
  const deadline = performance.now() + patienceMs;
  let last = '';
  for (let attempts = 1; performance.now() < deadline; attempts++) {
    const reply = await attempt(`${url}/api${path}`, { method, headers, ...(body && { body: JSON.stringify(body) }) });
    if (typeof reply !== 'string') return { ...reply, attempts };
    last = reply;
    onLost?.();
    await sleep(pauseMs);
  }
  throw new Error(`${method} ${url}${path} was not answered: ${last}`);
}

/** An answer, or why there is none yet. */
async function attempt(url: string, request: RequestInit): Promise<Reply | string> {
  try {
    const reply = await fetch(url, { ...request, signal: AbortSignal.timeout(attemptMs) });
    const text = await reply.text();
    if (!reply.headers.get('content-type')?.includes('json')) return `${reply.status} ${text.slice(0, 200)}`;
    const body = text === '' ? {} : JSON.parse(text);
    if (again.has(body.code)) return `${reply.status} ${body.code}`;
    return { status: reply.status, body };
  } catch (error) {
    return String((error as Error).cause ?? error);
  }
}

interface Account {
  readonly handle: string;
  readonly key: string;
  readonly client: Client;
}

/** Accounts that use every feature, each one request after another, until they are stopped. */
export async function startLoad({ url, instances, workers, outside, receiver }: LoadOptions): Promise<Load> {
  const client = createClient(url);
  const accounts: Account[] = [];
  const funded: Acknowledged[] = [];
  for (let number = 0; number < workers; number++) {
    const { handle, key } = await client.register();
    accounts.push({ handle, key, client });
    funded.push(await fund(client, { handle, key }));
    const events = ['payment.received', 'withdrawal.completed', 'invoice.paid'];
    const { status } = await client.post('/webhooks', { url: receiver, events }, key);
    if (status !== 201) throw new Error(`the webhook was refused: ${status}`);
  }

  let isStopped = false;
  const refused = new Map(instances.map((one) => [one, 0]));
  const load: Load = {
    acknowledged: [...funded],
    answered: [],
    wrong: [],
    subscribers: new Set(accounts.map(({ handle }) => handle)),
    refused,
    lost: 0,
    async stop() {
      isStopped = true;
      await Promise.all(running);
    },
  };

  async function ask(path: string, asked: Omit<Asked, 'onLost'>): Promise<Reply['body'] | undefined> {
    const reply = await askUntilAnswered(url, path, { ...asked, onLost: () => load.lost++ });
    load.answered.push({ path, at: performance.now(), attempts: reply.attempts });
    if (reply.status < 300 || (asked.needsOther && reply.status > 500)) return reply.body;
    load.wrong.push(`${asked.method ?? 'POST'} ${path}: ${reply.status} ${JSON.stringify(reply.body).slice(0, 500)}`);
    return undefined;
  }

  let withdrawn = 0;

  /** What an account does in turn. Transfers stand for the most of it. */
  function jobsOf({ handle, key }: Account, payee: Account): readonly (() => Promise<void>)[] {
    const keep = (feature: string, id: string | undefined, amount: string) => {
      if (id === undefined) return;
      load.acknowledged.push({ feature, handle, id, amount, ...(feature === 'transfer' && { to: payee.handle }) });
    };
    const act =
      (feature: string, path: string, body: object, idOf: (answer: Reply['body']) => string, amount: string) =>
      async () => {
        const answer = await ask(path, { key, body });
        if (answer !== undefined) keep(feature, idOf(answer), amount);
      };
    const transfer = act(
      'transfer',
      '/agent/transfer',
      { to: payee.handle, amount: 0.25, currency: 'USDC' },
      ({ transferId }) => transferId,
      '0.25',
    );
    return [
      transfer,
      withdraw,
      transfer,
      payInvoice,
      transfer,
      act('swap', '/swap/execute', { from: 'USDC', to: 'ETH', amount: '5' }, ({ txId }) => txId, '5'),
      transfer,
      revokeKey,
      transfer,
      act(
        'bridge',
        '/cross-chain/transfer',
        { from: 'MATIC', to: 'BASE', amount: '5' },
        ({ transferId }) => transferId,
        '5',
      ),
      transfer,
      callSeller,
      transfer,
      act('funding', '/sandbox/fund', { amount: 10 }, ({ transferId }) => transferId, '10'),
      transfer,
      buy,
    ];

    /** Each another amount, so that one that was sent twice does not make up for one that was never sent. */
    async function withdraw(): Promise<void> {
      const amount = (2 + ++withdrawn / 1_000_000).toFixed(6);
      await act(
        'withdrawal',
        '/circle/withdraw',
        { amount: Number(amount), address: outside },
        ({ txId }) => txId,
        amount,
      )();
    }

    /** What the seller may still collect is told with its id. */
    async function callSeller(): Promise<void> {
      const body = { url: 'http://demo-seller.example/forecast', maxAmount: 0.01 };
      keep('call', (await ask('/nano/pay', { key, body, needsOther: true }))?.payment?.id, '0.01');
    }

    /** Each to an address of its own, because the same order again is taken for a repetition. */
    async function buy(): Promise<void> {
      const order = {
        website: 'demo-shop.example',
        productTitle: 'Stoneware Mug, Sea',
        productBrand: 'Alder Pottery',
        amount: 24,
        paymentMethod: 'usdc',
        shippingAddress: `Ada Lovelace, ${randomUUID()} Street 1, 94105 San Francisco, US`,
      };
      keep('order', (await ask('/shopping/buy', { key, body: order, needsOther: true }))?.orderId, '24');
    }

    async function payInvoice(): Promise<void> {
      const asked = { toHandle: handle, amount: 0.5, currency: 'USDC', description: 'of the load' };
      const invoice = await ask('/invoices', { key: payee.key, body: asked });
      if (invoice === undefined) return;
      const paid = await ask(`/invoices/${invoice.id}/pay`, { key });
      keep('transfer', paid?.transferId, '0.5');
    }

    async function revokeKey(): Promise<void> {
      const made = await ask('/account/keys', { key, body: { name: 'of the load', scopes: ['read'] } });
      if (made === undefined) return;
      const look = () => Promise.all(instances.map((one) => lookWith(one, made.apiKey)));
      const before = await look();
      if ((await ask(`/account/keys/${made.id}`, { method: 'DELETE', key })) === undefined) return;
      const after = await look();
      for (const [index, one] of instances.entries()) {
        const [was, is] = [before[index], after[index]];
        if (was !== undefined && was !== 200) load.wrong.push(`${one} answered ${was} to a key before it was revoked`);
        if (is !== undefined && is !== 401) load.wrong.push(`${one} answered ${is} to a revoked key`);
        if (was === 200 && is === 401) refused.set(one, (refused.get(one) ?? 0) + 1);
      }
    }
  }

  const running = accounts.map(async (account, index) => {
    const jobs = jobsOf(account, accounts[(index + 1) % accounts.length] as Account);
    for (let turn = index; !isStopped; turn++) {
      await jobs[turn % jobs.length]?.().catch((error: Error) => load.wrong.push(error.message));
      await sleep(100);
    }
  });
  return load;
}

async function fund(client: Client, { handle, key }: Pick<Account, 'handle' | 'key'>): Promise<Acknowledged> {
  const amount = '10000';
  const { status, body } = await client.post('/sandbox/fund', { amount }, key);
  if (status !== 200) throw new Error(`no money: ${status} ${JSON.stringify(body)}`);
  return { feature: 'funding', handle, id: body.transferId, amount };
}

/** The status, if the instance answers and does not ask to come again. */
async function lookWith(url: string, key: string): Promise<number | undefined> {
  const reply = await attempt(`${url}/api/circle/balance`, { headers: { authorization: `Bearer ${key}` } });
  return typeof reply === 'string' ? undefined : reply.status;
}

/**
 * Small payments at the balancer and at each instance, one after another, each until it is answered. They need no stand-in of the outside
 * world, so they show when the service itself answers.
 */
export interface Pulse {
  readonly acknowledged: Acknowledged[];
  /** When one was acknowledged, by the URL it was sent to. */
  readonly times: ReadonlyMap<string, readonly number[]>;
  /** Every answer that was wrong, as of the load. */
  readonly wrong: readonly string[];
  stop(): Promise<void>;
}

export async function startPulse(url: string, instances: readonly string[]): Promise<Pulse> {
  const client = createClient(url);
  const [payer, payee] = [await client.register(), await client.register()];
  const acknowledged = [await fund(client, payer)];
  const wrong: string[] = [];
  const targets = [url, ...instances];
  const times = new Map<string, number[]>(targets.map((one) => [one, []]));
  let isStopped = false;

  async function pay(target: string): Promise<void> {
    const asked = { key: payer.key, body: { to: payee.handle, amount: 0.01, currency: 'USDC' }, pauseMs: 100 };
    const { status, body } = await askUntilAnswered(target, '/agent/transfer', asked);
    if (status !== 200) throw new Error(`${target} answered a payment with ${status} ${JSON.stringify(body)}`);
    times.get(target)?.push(performance.now());
    const [handle, to] = [payer.handle, payee.handle];
    acknowledged.push({ feature: 'transfer', handle, to, id: body.transferId, amount: '0.01' });
  }

  const running = targets.map(async (target) => {
    while (!isStopped) {
      await pay(target).catch((error: Error) => wrong.push(error.message));
      await sleep(250);
    }
  });
  return {
    acknowledged,
    times,
    wrong,
    /** The last payments are asked for until they are answered: the ledger may have one whose answer was lost. */
    async stop() {
      isStopped = true;
      await Promise.all(running);
    },
  };
}
