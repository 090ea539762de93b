import { onlyRow, type Queryable } from '../../src/kernel/db/database.ts';
import { amountOf, toDecimalText } from '../../src/money/amount.ts';
import type { Client } from './client.ts';

export interface TestKey {
  readonly id: string;
  readonly apiKey: string;
}

/** A key below another one of the account, which the root creates. */
export async function createKey(client: Client, root: string, parent?: TestKey): Promise<TestKey> {
  const wish = { name: 'agent', ...(parent && { parent: parent.id }) };
  const { status, body } = await client.post('/account/keys', wish, root);
  if (status !== 201) throw new Error(`no key: ${JSON.stringify(body)}`);
  return { id: body.id, apiKey: body.apiKey };
}

/** One budget for everything that a key and the keys below it ever spend, in millionths of a USDC. */
export async function limitKey(client: Client, root: string, { id }: TestKey, most: bigint): Promise<void> {
  const budgets = [{ id: 'all', amount: Number(decimal(most)), currency: 'USDC', window: 'once' }];
  const { status, body } = await client.request('PUT', `/account/keys/${id}/policy`, { key: root, body: { budgets } });
  if (status !== 200) throw new Error(`no policy: ${JSON.stringify(body)}`);
}

export const decimal = (atomic: bigint): string => toDecimalText(amountOf('USDC', atomic));

/** The millionths of a decimal text. */
export function millionths(text: string): bigint {
  const [whole = '0', decimals = ''] = text.split('.');
  return BigInt(whole + decimals.padEnd(6, '0'));
}

export async function accountIdOf(db: Queryable, { handle }: { readonly handle: string }): Promise<bigint> {
  return onlyRow(await db.query<{ id: bigint }>('SELECT id FROM accounts WHERE handle = $1', [handle])).id;
}
