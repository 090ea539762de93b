import { expect, test } from 'vitest';
import { Paywright } from '#sdk';
import { type Fault, faults, startFaultyProxy } from '../../support/faulty-proxy.ts';
import { randomFrom } from '../../support/random.ts';
import { useService } from '../../support/service.ts';

/** SDK_CALLS=10000 for the full run. */
const calls = Number(process.env['SDK_CALLS'] ?? 400);
const atOnce = 40;
const shareOfFaults = 0.2;

const service = useService();
const proxy = await startFaultyProxy(() => service.url);
const kinds = Object.keys(faults) as Fault[];

interface Pair {
  readonly payer: Paywright;
  readonly payee: Paywright;
  readonly to: string;
}

/** An account may make a thousand invoices a day, so there are a few of each. */
async function newPair(): Promise<Pair> {
  const [payer, payee] = await Promise.all([service.client.register(), service.client.register()]);
  expect((await service.client.post('/sandbox/fund', { amount: 1_000 }, payer.key)).status).toBe(200);
  // Of all attempts, one in 5^13 calls fails; the time between them is a few seconds at most.
  const connect = (apiKey: string) => new Paywright({ apiKey, baseUrl: `${proxy.url}/api`, maxRetries: 12 });
  return { payer: connect(payer.key), payee: connect(payee.key), to: payee.handle };
}

/** Each pays another amount, so that the guard, which is on, sees no repetition unless the SDK makes one. */
async function makeCall({ payer, payee, to }: Pair, number: number): Promise<string> {
  const amount = (10_000 + number) / 1e6;
  const description = `Call ${number}`;
  if (number % 10 > 0) {
    const paid = await payer.transfers.create({ to, amount: amount.toFixed(6), currency: 'USDC', description });
    if (paid.status !== 'complete') throw new Error(paid.summary);
    return paid.transferId;
  }
  const { id } = await payee.invoices.create({
    toHandle: await handleOf(payer),
    amount: amount.toFixed(6),
    currency: 'USDC',
    description,
  });
  const paid = await payer.invoices.pay({ id });
  if (paid.status !== 'paid') throw new Error(paid.status);
  return String(paid.transferId);
}

const handles = new Map<Paywright, Promise<string>>();
function handleOf(paywright: Paywright): Promise<string> {
  const known = handles.get(paywright) ?? paywright.accounts.get().then(({ handle }) => handle);
  handles.set(paywright, known);
  return known;
}

test(`${calls} calls with faults have their effect once, and their answer`, async () => {
  const pairs = await Promise.all(Array.from({ length: 4 }, newPair));
  const random = randomFrom(7);
  proxy.choose = () => (random() < shareOfFaults ? kinds[Math.floor(random() * kinds.length)] : undefined);
  const begun = performance.now();
  const answered: string[] = [];
  let next = 0;
  const work = async () => {
    for (let number = next++; number < calls; number = next++) {
      answered[number] = await makeCall(pairs[number % pairs.length] as Pair, number);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, work));

  const told: { readonly description: string | null; readonly transferId: string }[] = [];
  for (const { payer } of pairs) {
    for await (const item of payer.transfers.list({ limit: 100 })) if (item.direction === 'sent') told.push(item);
  }
  const seconds = (performance.now() - begun) / 1_000;

  expect(told).toHaveLength(calls);
  expect(told.map(({ transferId }) => transferId).sort()).toEqual([...answered].sort());
  const invoices = (await service.database.db.query<{ count: string }>('SELECT count(*) FROM invoices')).rows[0];
  expect(Number(invoices?.count)).toBe(Math.ceil(calls / 10));
  const { rows } = await service.database.db.query<{ count: string }>(
    "SELECT count(*) FROM ledger.postings WHERE type IN ('transfer', 'invoice')",
  );
  expect(Number(rows[0]?.count)).toBe(calls);
  // Every kind of fault came.
  expect([...proxy.counts.keys()].sort()).toEqual([...kinds].sort());
  const count = [...proxy.counts.values()].reduce((sum, one) => sum + one, 0);
  if (calls > 400) process.stdout.write(`${calls} calls, ${count} faults, ${seconds.toFixed(0)} s\n`);
});

test('what writes and takes no Idempotency-Key is done at most once', async () => {
  const { key } = await service.client.register();
  const paywright = new Paywright({ apiKey: key, baseUrl: `${proxy.url}/api` });
  const outcomes: Partial<Record<Fault, string>> = {};
  for (const kind of kinds) {
    let faulty: Fault | undefined = kind;
    proxy.choose = () => {
      const now = faulty;
      faulty = undefined;
      return now;
    };
    outcomes[kind] = await paywright.accounts.createKey({ name: kind, scopes: ['read'] }).then(
      () => 'done',
      (error: { code: string }) => error.code,
    );
  }
  proxy.choose = () => undefined;
  expect(outcomes).toEqual({
    lostBefore: 'connection_lost',
    lostAfter: 'connection_lost',
    lostMeanwhile: 'connection_lost',
    cut: 'connection_lost',
    busy: 'unexpected_response',
    badGateway: 'unexpected_response',
    limited: 'done',
  });
  const names = async () => {
    const found: string[] = [];
    for await (const { name } of paywright.accounts.listKeys())
      if (kinds.includes(name as Fault)) found.push(name as string);
    return found.sort();
  };
  await expect.poll(names).toEqual(['badGateway', 'cut', 'limited', 'lostAfter', 'lostMeanwhile']);
});
