import { type Hex, parseUnits } from 'viem';
import type { PrivateKeyAccount } from 'viem/accounts';
import { expect } from 'vitest';
import { connectLocalChains } from '../../sandbox/chains/local-chains.ts';
import { sandboxFloat } from '../../sandbox/fund-house-wallets.ts';
import { features } from '../../src/app/features.ts';
import { sagasOf } from '../../src/app/listed-feature.ts';
import { tokenAbi } from '../../src/chains/abi.ts';
import { createNetworks, type Networks, tokenOf } from '../../src/chains/network.ts';
import { reconcile } from '../../src/custody/reserves/reconcile.ts';
import type { Saga } from '../../src/kernel/sagas/define-saga.ts';
import { verifyLedger } from '../../src/ledger/verify.ts';
import { type Amount, amountOf } from '../../src/money/amount.ts';
import { type Asset, assets, chains } from '../../src/money/catalogue.ts';
import type { Client } from './client.ts';
import type { TestDatabase } from './database.ts';
import { askPrice, paymentHeader, sign } from './nano.ts';
import { until } from './until.ts';

const sagas = sagasOf(features);

/** A hundred of whatever it is about. */
export function mintedFor(rehearsal: Saga['rehearsal']): Amount {
  const asset = ('deposit' in rehearsal ? rehearsal.deposit : 'funded' in rehearsal && rehearsal.funded) || 'USDC';
  return amountOf(asset, 100n * 10n ** BigInt(assets[asset].decimals));
}

/** Always the same request, as somebody sends it who has got no answer. */
export function rehearse(request: { path: string; body: object }, key: string, outside: string) {
  const body = JSON.parse(JSON.stringify(request.body).replaceAll('{outside}', outside));
  const headers = { 'idempotency-key': 'the-only-one' };
  return (client: Client) => client.request('POST', request.path, { key, body, headers });
}

/** Always the same payment, for longer than all of this takes. */
export async function rehearseCall(client: Client, path: string, payer: PrivateKeyAccount) {
  const terms = await askPrice(client, path);
  const validBefore = BigInt(Math.floor(Date.now() / 1_000)) + 7_200n;
  const headers = paymentHeader(await sign(payer, terms, { changes: { validBefore } }), terms);
  return (to: Client) => to.request('GET', path, { headers });
}

/** A key below another, with a budget that covers everything. */
export async function makeAgent(
  client: Client,
  key: string,
): Promise<{ readonly id: string; readonly apiKey: string }> {
  const agent = (await client.post('/account/keys', { name: 'Agent' }, key)).body;
  const budgets = [{ id: 'all', amount: 1_000_000, currency: 'USDC', window: 'once' }];
  const path = `/account/keys/${agent.id}/policy`;
  expect(await client.request('PUT', path, { key, body: { budgets } })).toMatchObject({ status: 200 });
  return agent;
}

/** The budget has spent what has left the balance since it was minted: a coin in the budget's currency, so by its price. */
export async function checkBudget(client: Client, { key, minted }: { readonly key: string; readonly minted: Amount }) {
  const { budgets } = (await client.get('/account/budgets', key)).body;
  const { USDC, other } = (await client.get('/circle/balance', key)).body;
  const isHome = (one: { chain: string; asset: string }) => one.chain === 'MATIC' && one.asset === minted.asset;
  const balance = minted.asset === 'USDC' ? USDC : (other.find(isHome)?.amount ?? '0');
  const left = minted.atomic - parseUnits(balance, assets[minted.asset].decimals);
  const spent = parseUnits(budgets[0].spent, 6);
  if (minted.asset === 'USDC') expect(spent).toBe(left);
  else expect(spent > 0n).toBe(left > 0n);
}

/** What was minted is with those who own it, here or outside, to the last unit; and the books and the chains agree. */
export async function checkMoney(
  database: TestDatabase,
  client: Client,
  { outside, minted }: { readonly outside: readonly Hex[]; readonly minted: Amount },
): Promise<void> {
  interface Row {
    readonly asset: string;
    readonly owed: string;
    readonly inFlight: string;
    readonly difference: string;
  }
  const networks = createNetworks((await connectLocalChains(database)).settings);
  const reserves = await until('the reserves to be told anew', async () => {
    const { body } = await client.get('/reserves');
    const rows = body.reserves as Row[];
    return rows.every(({ inFlight }) => inFlight === '0') ? rows : undefined;
  });
  expect(reserves.map(({ difference }) => difference)).toEqual(reserves.map(() => '0'));
  const owed = reserves
    .filter(({ asset }) => asset === minted.asset)
    .reduce((sum, row) => sum + parseUnits(row.owed, assets[minted.asset].decimals), 0n);
  const sold = await soldOf(database, minted.asset);
  const given = minted.asset === sandboxFloat.asset ? sandboxFloat.atomic : 0n;
  let paid = 0n;
  for (const address of outside) paid += await heldBy(networks, address, minted.asset);
  expect(owed - given + paid + sold).toBe(minted.atomic);
  expect((await verifyLedger(database.db)).problems).toEqual([]);
  expect(await reconcile({ db: database.db, networks, sagas })).toEqual([]);
}

/** Native coin and the token that stands for it are the same to whoever has it. */
async function heldBy(networks: Networks, address: Hex, asset: Asset): Promise<bigint> {
  let sum = 0n;
  for (const network of networks.values()) {
    const { id, client } = network;
    if (chains[id].native === asset) sum += await client.getBalance({ address });
    const token = tokenOf(network, asset);
    if (token === undefined) continue;
    const args = [address] as const;
    sum += await client.readContract({ address: token.address, abi: tokenAbi, functionName: 'balanceOf', args });
  }
  return sum;
}

/** What others have got for something else: for another coin, or for an answer. */
async function soldOf({ db }: TestDatabase, asset: Asset): Promise<bigint> {
  const { rows } = await db.query<{ sold: bigint }>(
    `SELECT coalesce(sum(sold), 0) AS sold FROM (
       SELECT amount - fee - unspent FROM swaps WHERE status = 'completed' AND asset = $1
       UNION ALL SELECT amount FROM purchases WHERE status = 'paid' AND asset = $1) others (sold)`,
    [asset],
  );
  return rows[0]?.sold ?? 0n;
}
