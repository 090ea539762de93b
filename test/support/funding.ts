import type { Hex } from 'viem';
import type { Database } from '../../src/kernel/db/database.ts';
import type { Client, Reply, TestAccount } from './client.ts';

/** A funding link as a test asks for it, with what only the test knows. */
export interface TestLink {
  readonly id: string;
  readonly url: string;
  readonly token: string;
}

export async function askForLink(
  client: Client,
  { key }: Pick<TestAccount, 'key'>,
  amount: number,
  currency = 'USDC',
): Promise<TestLink> {
  const reply = await client.post('/circle/buy-session', { amount, currency }, key);
  if (reply.status !== 200) throw new Error(`no link: ${JSON.stringify(reply.body)}`);
  return linkIn(reply);
}

export function linkIn({ body }: Reply): TestLink {
  return { id: body.id, url: body.url, token: new URL(body.url).searchParams.get('token') ?? '' };
}

export async function addressOf(client: Client, { key }: Pick<TestAccount, 'key'>, chain = 'MATIC'): Promise<Hex> {
  return (await client.get(`/circle/deposit-address?chain=${chain}`, key)).body.address;
}

/** Sends from outside, as a wallet does. */
export async function payFromWallet(
  client: Client,
  { to, amount, currency = 'USDC', chain = 'MATIC' }: { to: Hex; amount: number; currency?: string; chain?: string },
): Promise<Hex> {
  const reply = await client.post('/sandbox/faucet', { address: to, chain, currency, amount });
  if (reply.status !== 200) throw new Error(`not paid: ${JSON.stringify(reply.body)}`);
  return reply.body.txHash;
}

/** Lets a link run out after so many milliseconds, past the guard that keeps what is asked for from changing. */
export async function endLink(db: Database, id: string, inMs = 0): Promise<void> {
  await db.transaction(async (tx) => {
    await tx.query('SET LOCAL session_replication_role = replica');
    await tx.query(
      `UPDATE funding_links SET expires_at = greatest(created_at + interval '1 microsecond',
         clock_timestamp() + make_interval(secs => $2::float8 / 1000)) WHERE id = $1`,
      [id, inMs],
    );
  });
}
