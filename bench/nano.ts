import { fork } from 'node:child_process';
import { randomBytes, randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { signRecoverable } from 'tiny-secp256k1';
import { type Hex, hashTypedData, hexToBytes, recoverTypedDataAddress, toHex } from 'viem';
import { generatePrivateKey, privateKeyToAddress } from 'viem/accounts';
import { connectLocalChains } from '../sandbox/chains/local-chains.ts';
import { type Authorization, type SignedAuthorization, toTypedData } from '../src/chains/authorization.ts';
import { type Database, onlyRow, openDatabase } from '../src/kernel/db/database.ts';
import { createLogger } from '../src/kernel/log/logger.ts';
import { createRecoverPayer } from '../src/x402/sell/recover-payer.ts';
import { encodeHeader } from '../src/x402/wire/header.ts';
import type { Terms2 } from '../src/x402/wire/messages.ts';
import { load, type Server, started, startServer } from './http.ts';
import { type Measured, median, middle } from './measure.ts';
import { createPeople } from './people.ts';
import type { StockSellerOrder } from './stock-seller-process.ts';

export interface NanoFigures {
  /** Microseconds to find out who has signed, here and with viem. */
  readonly recoveryUs: { readonly ours: number; readonly viems: number };
  /** Calls paid with payments that were signed before, of us and of the stock middleware that settles each. */
  readonly exact: Measured;
  readonly stock: Measured;
  /** Calls paid from a balance, and transfers over HTTP. */
  readonly fromBalance: Measured;
  readonly transfers: Measured;
  /** How many payments were settled, in how many seconds after the calls of their round, by how many transactions. */
  readonly settled: { readonly payments: number; readonly seconds: number; readonly transactions: number };
}

const quotePath = '/nano/quote?amount=50&currency=USDC&action=transfer';
const connections = 256;
/** It settles one after the other, so more would only wait for longer. */
const stockConnections = 16;
/** Signed ahead for each run: more than can be spent in it. */
const paymentsPerRun = { ours: 12_000, stock: 600 };
const payerCount = 50;

export async function measureNano(
  createDatabase: (name: string) => Promise<string>,
  {
    seconds,
    repeats,
    say,
  }: { readonly seconds: number; readonly repeats: number; readonly say: (line: string) => void },
): Promise<NanoFigures> {
  const url = await createDatabase('nano');
  const db = openDatabase({ url, poolSize: 3, logger: createLogger('silent') });
  const people = await createPeople(db, 1_000);
  const server = await startServer(url, { NANO_PAYER_PER_MINUTE: '1000000', NANO_CREDIT_PER_PAYER: '100' });
  const api = `http://127.0.0.1:${server.port}/api`;
  const { faucet, settings } = await connectLocalChains({ db });
  const rpcUrl = settings.get('MATIC')?.urls[0] ?? '';
  const terms = await termsOf(`${api}${quotePath}`);
  const mint = (asset: 'USDC' | 'MATIC', to: Hex, atomic: bigint) =>
    faucet.mint({ id: randomUUID(), chain: 'MATIC', asset, to, atomic });
  const keys = Array.from({ length: payerCount }, () => generatePrivateKey());
  for (const key of keys) await mint('USDC', privateKeyToAddress(key), 100_000_000n);
  // Wallets that have paid often before: of new ones little is taken on credit.
  await db.query(
    `INSERT INTO payers (chain, token, address, arrivals)
     SELECT 'MATIC', lower($1), lower(address), 1000000 FROM unnest($2::text[]) address`,
    [terms.asset, keys.map(privateKeyToAddress)],
  );
  const stock = await startStock(
    { rpcUrl, token: terms.asset as Hex, payTo: privateKeyToAddress(generatePrivateKey()) },
    mint,
  );
  try {
    const recoveryUs = await measureRecovery(terms, keys);
    await load(server, { connections: 16, seconds: 0, path: '/api/agent/transfer', people, everybodyOnce: true });
    const ways = {
      exact: () => {
        const payments = signMany(terms, keys, paymentsPerRun.ours);
        return load(server, { connections, seconds, path: `/api${quotePath}`, people: [], payments });
      },
      stock: () => {
        const payments = signMany({ ...terms, payTo: stock.payTo }, keys, paymentsPerRun.stock);
        return load(stock.server, {
          connections: stockConnections,
          seconds: 2 * seconds,
          path: '/quote',
          people: [],
          payments,
        });
      },
      fromBalance: () =>
        load(server, { connections, seconds, path: `/api${quotePath}`, people, method: 'GET' as const }),
      transfers: () => load(server, { connections, seconds, path: '/api/agent/transfer', people }),
    };
    const runs: Record<keyof typeof ways, Measured[]> = { exact: [], stock: [], fromBalance: [], transfers: [] };
    let settlingSeconds = 0;
    for (let round = 1; round <= repeats; round++) {
      say(`Calls that are paid for, round ${round} of ${repeats} …`);
      for (const name of Object.keys(ways) as (keyof typeof ways)[]) {
        runs[name].push(await ways[name]());
        // Otherwise what comes next would share the machine and the chain with the settling of these calls.
        if (name === 'exact') settlingSeconds += await untilSettled(db);
      }
    }
    const settled = { ...(await readSettled(db)), seconds: settlingSeconds };
    return {
      recoveryUs,
      exact: median(runs.exact),
      stock: median(runs.stock),
      fromBalance: median(runs.fromBalance),
      transfers: median(runs.transfers),
      settled,
    };
  } finally {
    await stock.server.stop();
    await server.stop();
    await db.close();
  }
}

async function termsOf(url: string): Promise<Terms2> {
  const reply = await fetch(url);
  const header = reply.headers.get('payment-required') ?? '';
  return JSON.parse(Buffer.from(header, 'base64').toString()).accepts[0];
}

async function startStock(
  order: Omit<StockSellerOrder, 'key'>,
  mint: (asset: 'MATIC', to: Hex, atomic: bigint) => Promise<unknown>,
): Promise<{ readonly server: Server; readonly payTo: Hex }> {
  const key = generatePrivateKey();
  await mint('MATIC', privateKeyToAddress(key), 10n ** 21n);
  const child = fork(fileURLToPath(new URL('./stock-seller-process.js', import.meta.url)));
  child.send({ ...order, key });
  return { server: await started(child), payTo: order.payTo };
}

const domainOf = ({ asset, extra }: Terms2) => ({
  name: String(extra?.['name']),
  version: String(extra?.['version']),
  chainId: 137,
  verifyingContract: asset as Hex,
});

/** The headers of payments, each to be used once. */
function signMany(terms: Terms2, keys: readonly Hex[], count: number): string[] {
  return Array.from({ length: count }, (_, index) => {
    const key = keys[index % keys.length] as Hex;
    const { signature, from, to, atomic, validAfter = 0n, validBefore, nonce } = signOne(terms, key);
    const authorization = {
      from,
      to,
      value: atomic.toString(),
      validAfter: validAfter.toString(),
      validBefore: validBefore.toString(),
      nonce,
    };
    return encodeHeader({ x402Version: 2, accepted: terms, payload: { signature, authorization } });
  });
}

const addresses = new Map<Hex, Hex>();

function signOne(terms: Terms2, key: Hex): SignedAuthorization {
  const from = addresses.get(key) ?? privateKeyToAddress(key);
  addresses.set(key, from);
  const authorization: Authorization = {
    from,
    to: terms.payTo as Hex,
    atomic: BigInt(terms.amount),
    nonce: `0x${randomBytes(32).toString('hex')}`,
    validAfter: 0n,
    validBefore: BigInt(Math.floor(Date.now() / 1_000)) + 3_600n,
  };
  const digest = hexToBytes(hashTypedData(toTypedData(domainOf(terms), authorization)));
  const { signature, recoveryId } = signRecoverable(digest, hexToBytes(key));
  return { ...authorization, signature: `${toHex(signature)}${(27 + recoveryId).toString(16)}` as Hex };
}

/** In turns, so that both meet the same machine. */
async function measureRecovery(terms: Terms2, keys: readonly Hex[]): Promise<NanoFigures['recoveryUs']> {
  const domain = domainOf(terms);
  const recover = createRecoverPayer(domain);
  const signed = Array.from({ length: 600 }, (_, index) => signOne(terms, keys[index % keys.length] as Hex));
  const times: { readonly ours: number[]; readonly viems: number[] } = { ours: [], viems: [] };
  for (const [index, one] of signed.entries()) {
    const begun = performance.now();
    await recover(one);
    const between = performance.now();
    await recoverTypedDataAddress({ ...toTypedData(domain, one), signature: one.signature } as never);
    if (index < 100) continue;
    times.ours.push(between - begun);
    times.viems.push(performance.now() - between);
  }
  return { ours: middle(times.ours) * 1_000, viems: middle(times.viems) * 1_000 };
}

/** Returns how many seconds it took. */
async function untilSettled(db: Database): Promise<number> {
  const begun = performance.now();
  for (;;) {
    const { rowCount } = await db.query('SELECT FROM payment_claims WHERE earned_at IS NULL LIMIT 1');
    if (rowCount === 0) return (performance.now() - begun) / 1_000;
    await sleep(250);
  }
}

async function readSettled(db: Database): Promise<{ readonly payments: number; readonly transactions: number }> {
  return onlyRow(
    await db.query<{ payments: number; transactions: number }>(
      'SELECT count(*)::integer AS payments, count(DISTINCT tx_hash)::integer AS transactions FROM payment_claims',
    ),
  );
}
