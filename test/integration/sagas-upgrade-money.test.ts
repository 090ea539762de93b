import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { type Hex, toEventSelector } from 'viem';
import { generatePrivateKey, privateKeyToAddress } from 'viem/accounts';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { features } from '../../src/app/features.ts';
import { sagasOf } from '../../src/app/listed-feature.ts';
import { multicallAddress } from '../../src/chains/abi.ts';
import { encodeSubmission, readTokenDomain, toTypedData } from '../../src/chains/authorization.ts';
import { beginChains } from '../../src/deposits/begin-chains.ts';
import { houseAccount, userAccount } from '../../src/ledger/account-id.ts';
import { createLedger, type Ledger } from '../../src/ledger/ledger.ts';
import { newPostingId } from '../../src/ledger/posting-id.ts';
import { createLogger } from '../../src/logger.ts';
import { amountOf } from '../../src/money/amount.ts';
import { type ChainId, chains as facts } from '../../src/money/catalogue.ts';
import { createKeysProvider } from '../../src/providers/keys/keys-provider.ts';
import { reconcile } from '../../src/reserves/reconcile.ts';
import { fillGas } from '../../src/sandbox/fill-gas.ts';
import { createSecrets } from '../../src/secrets.ts';
import { assignWallet } from '../../src/wallets/assign-wallet.ts';
import { addHouseWallet, type HouseWallet, houseWallet, listHouseWallets } from '../../src/wallets/house-wallets.ts';
import type { WalletProvider } from '../../src/wallets/provider.ts';
import { useChains } from '../support/chains.ts';
import { createOwners } from '../support/ledger.ts';
import { useOlderDatabase } from '../support/older-database.ts';
import { startService } from '../support/service.ts';
import { until } from '../support/until.ts';

// Everything here is done as the release before did it: its rows, its postings, and its requests to the provider.
const unknownTransactions = new URL('../../src/db/migrations/023_unknown_transactions.sql', import.meta.url);
const database = useOlderDatabase({ without: '_sagas.sql' });
const { db } = database;
const chains = useChains(database);
const secret = 's'.repeat(32);
const logger = createLogger('silent');
const [gross, fee, net] = [10_000_000n, 1_000_000n, 9_000_000n];

/** How far the provider has come with something: never asked, taken but its answer lost, or taken and known. */
type Asked = 'not' | 'lost' | 'answered';

let ledger: Ledger;
let provider: WalletProvider;

beforeAll(async () => {
  const { networks, faucet } = chains;
  // The provider that stands in for the older one keeps a book that came later.
  await db.query(await readFile(unknownTransactions, 'utf8'));
  provider = await createKeysProvider({ db, networks, logger, secrets: createSecrets(secret) });
  ledger = createLedger({ db, logger });
  await openOlderHouseWallets();
  await fillGas({ db, ledger, faucet });
});
afterAll(() => ledger?.stop());

test('what was under way when a database was upgraded comes to its end, and is paid once', async () => {
  const { address: treasury } = await houseWallet(db, 'treasury', 'MATIC');
  const owners = await createOwners(db, 7);
  const [saver = none(), ...others] = owners.map(({ id }) => id);
  for (const id of others) await hold(id, treasury, gross);
  const retired = await retireTreasury('BASE');
  await hold(saver, retired.address, 7_000_000n, 'BASE');
  const deposits = [
    await deposit(saver, 3_000_001n),
    await deposit(saver, 3_000_002n),
    await deposit(saver, 3_000_003n),
  ];
  await beginChains(db, chains.networks);

  const withdrawals = [
    await withdraw(others[0] ?? none(), { status: 'awaiting_liquidity', asked: 'not' }),
    await withdraw(others[1] ?? none(), { status: 'sending', asked: 'not' }),
    await withdraw(others[2] ?? none(), { status: 'sending', asked: 'lost' }),
    await withdraw(others[3] ?? none(), { status: 'sending', asked: 'answered' }),
    await withdraw(others[4] ?? none(), { status: 'sending', asked: 'answered', knowsHash: true }),
    await withdraw(others[5] ?? none(), { status: 'queued', asked: 'not' }),
  ];
  const sweeps: Started[] = [];
  for (const [index, asked] of (['not', 'lost', 'answered'] as const).entries()) {
    sweeps.push(await sweep(deposits[index] ?? none(), asked));
  }
  const moved = await move(retired, 7_000_000n);
  const sentBefore = await sent();
  expect(sentBefore).toHaveLength(6);

  await db.query('DROP TABLE held_key_transactions, unknown_transactions');
  await database.upgrade();
  const service = await startService(database, { env: { PAYWRIGHT_SECRET: secret } });
  onTestFinished(() => service.stop());
  for (const table of ['withdrawals', 'sweeps', 'house_moves']) {
    await until(`${table} to finish`, () => allComplete(table, [...withdrawals, ...sweeps, moved]));
  }

  for (const { id, key, to } of withdrawals) {
    expect(await chains.balanceOf('MATIC', 'USDC', to ?? none()), id).toBe(net);
    if (key !== undefined) expect(await keyOf(id)).toBe(key);
  }
  for (const { id, key } of [...sweeps.slice(1), moved]) expect(await keyOf(id)).toBe(key);
  for (const { address } of deposits) expect(await chains.balanceOf('MATIC', 'USDC', address)).toBe(0n);
  // Nothing that had been taken was asked for under another key.
  const later = (await sent()).filter((id) => !sentBefore.includes(id));
  const expected = await Promise.all(
    [withdrawals[0], withdrawals[1], withdrawals[5], sweeps[0]].map((one) => keyOf(one?.id ?? '')),
  );
  const paidForSagas = await db.query<{ id: string }>(
    "SELECT id FROM chain_steps WHERE id = ANY ($1) AND saga <> 'house_move' ORDER BY id",
    [later],
  );
  expect(paidForSagas.rows.map(({ id }) => id)).toEqual(expected.toSorted());

  const reserves = await until('the reserves to be told anew', async () => {
    const rows = (await service.client.get('/reserves')).body.reserves as { inFlight: string; difference: string }[];
    return rows.every(({ inFlight }) => inFlight === '0') && rows;
  });
  expect(reserves.length).toBeGreaterThan(5);
  expect(reserves.filter(({ difference }) => difference !== '0')).toEqual([]);
  expect(await reconcile({ db, networks: chains.networks, sagas: sagasOf(features) })).toEqual([]);
});

interface Started {
  readonly id: string;
  /** Left out when it was not written down because nobody was to be asked yet. */
  readonly key?: string;
  readonly to?: Hex;
}

interface Deposited {
  readonly id: string;
  readonly address: Hex;
  readonly ref: string;
  readonly atomic: bigint;
}

function none(): never {
  throw new Error('it is not there');
}

async function keyOf(sagaId: string): Promise<string> {
  const { rows } = await db.query<{ id: string }>('SELECT id FROM chain_steps WHERE saga_id = $1', [sagaId]);
  expect(rows).toHaveLength(1);
  return rows[0]?.id ?? '';
}

async function sent(): Promise<string[]> {
  const { rows } = await db.query<{ id: string }>('SELECT id FROM key_transactions');
  return rows.map(({ id }) => id);
}

async function allComplete(table: string, started: readonly Started[]): Promise<boolean> {
  const ids = started.map(({ id }) => id);
  const { rows } = await db.query<{ status: string }>(`SELECT status FROM ${table} WHERE id = ANY ($1)`, [ids]);
  return rows.length > 0 && rows.every(({ status }) => status === 'complete');
}

/** Tokens that a wallet of ours holds already, and somebody's balance for them. */
async function hold(accountId: bigint, at: Hex, atomic: bigint, chain: ChainId = 'MATIC'): Promise<void> {
  await chains.mint(chain, 'USDC', at, atomic);
  await credit(accountId, atomic, { type: 'float', chain, reference: `before:${randomUUID()}` });
}

async function credit(
  accountId: bigint,
  atomic: bigint,
  { type, chain, reference }: { type: 'deposit' | 'float'; chain: ChainId; reference: string },
): Promise<string> {
  const id = newPostingId();
  const { outcome } = await ledger.post({
    id,
    type,
    amount: amountOf('USDC', atomic),
    recipientId: accountId,
    reference,
    entries: [
      { account: houseAccount('custody', 'USDC', chain), atomic: -atomic },
      { account: userAccount(accountId, 'USDC', chain), atomic },
    ],
  });
  expect(outcome).toBe('posted');
  return id;
}

/** To a wallet of somebody's, credited, and not yet swept. */
async function deposit(accountId: bigint, atomic: bigint): Promise<Deposited> {
  const wallet = await provider.createWallet({ chain: 'MATIC' });
  await db.query('UPDATE wallets SET retired_at = now() WHERE account_id = $1', [accountId]);
  await db.transaction((tx) => assignWallet(tx, { accountId, chain: 'MATIC', provider: provider.name, wallet }));
  const hash = await chains.mint('MATIC', 'USDC', wallet.address, atomic);
  const { blockNumber, logs } = await chains.network('MATIC').client.getTransactionReceipt({ hash });
  const position = logs.findIndex(({ topics }) => topics[0] === toEventSelector('Transfer(address,address,uint256)'));
  const reference = `deposit:MATIC:${hash}:${position}`;
  const transferId = await credit(accountId, atomic, { type: 'deposit', chain: 'MATIC', reference });
  const id = `dep_${randomUUID()}`;
  await db.query(
    `INSERT INTO deposits (id, chain, tx_hash, position, block_number, account_id, address, sender, asset, atomic,
        transfer_id) VALUES ($1, 'MATIC', $2, $9, $3, $4, $5, $6, 'USDC', $7, $8)`,
    [id, hash, blockNumber, accountId, wallet.address, `0x${'0'.repeat(40)}`, atomic, transferId, position],
  );
  return { id, address: wallet.address, ref: wallet.ref, atomic };
}

async function withdraw(
  accountId: bigint,
  { status, asked, knowsHash }: { status: string; asked: Asked; knowsHash?: true },
): Promise<Started> {
  const to = privateKeyToAddress(generatePrivateKey());
  const [id, key] = [`wdr_${randomUUID()}`, randomUUID()];
  const from = await houseWallet(db, 'treasury', 'MATIC');
  const { outcome } = await ledger.post({
    type: 'withdrawal',
    amount: amountOf('USDC', gross),
    fee: amountOf('USDC', fee),
    entries: [
      { account: userAccount(accountId, 'USDC'), atomic: -gross },
      { account: houseAccount('withdrawals_in_transit', 'USDC'), atomic: gross },
    ],
    reference: `withdrawal:${id}`,
    senderId: accountId,
  });
  expect(outcome).toBe('posted');
  const token = facts.MATIC.tokens.USDC;
  const taken =
    asked === 'not' ? undefined : await provider.sendToken({ idempotencyKey: key, from, token, to, atomic: net });
  const ref = asked === 'answered' ? taken : undefined;
  const report = knowsHash && ref !== undefined ? await provider.lookUp('MATIC', ref) : undefined;
  await db.query(
    `INSERT INTO withdrawals (id, account_id, chain, asset, address, gross, fee, net, status, idempotency_key,
        house_wallet_id, provider_ref, tx_hash) VALUES ($1, $2, 'MATIC', 'USDC', $3, $4, $5, $6, $7, $8, $9, $10, $11)`,
    [
      id,
      accountId,
      to,
      gross,
      fee,
      net,
      status,
      key,
      status === 'sending' ? from.id : null,
      ref ?? null,
      report?.hash ?? null,
    ],
  );
  await db.query('SELECT graphile_worker.add_job($1, $2::json, job_key => $3)', [
    'advance_withdrawal',
    JSON.stringify({ withdrawalId: id }),
    id,
  ]);
  return status === 'queued' ? { id, to } : { id, key, to };
}

async function sweep({ id: depositId, address, ref, atomic }: Deposited, asked: Asked): Promise<Started> {
  const network = chains.network('MATIC');
  const token = facts.MATIC.tokens.USDC;
  const gas = await houseWallet(db, 'gas', 'MATIC');
  const [id, key] = [`swp_${randomUUID()}`, randomUUID()];
  const { timestamp } = await network.client.getBlock();
  const authorization = {
    from: address,
    to: (await houseWallet(db, 'treasury', 'MATIC')).address,
    atomic,
    nonce: `0x${randomUUID().replaceAll('-', '').padStart(64, '0')}` as Hex,
    validBefore: timestamp + 3_600n,
  };
  const typedData = toTypedData(await readTokenDomain(network, token), authorization);
  const signature = await provider.signTypedData({ ref, address, chain: 'MATIC' }, typedData);
  const data = encodeSubmission(token, [{ ...authorization, signature }]);
  const call = { idempotencyKey: key, from: gas, contract: multicallAddress, data } as const;
  const taken = asked === 'not' ? undefined : await provider.execute(call);
  await db.query(
    `INSERT INTO sweeps (id, chain, asset, idempotency_key, gas_wallet_id, provider_ref, status)
     VALUES ($1, 'MATIC', 'USDC', $2, $3, $4, $5)`,
    [
      id,
      key,
      asked === 'not' ? null : gas.id,
      asked === 'answered' ? taken : null,
      asked === 'not' ? 'signed' : 'sending',
    ],
  );
  const { to, nonce, validBefore } = authorization;
  await db.query('INSERT INTO sweep_items VALUES ($1, $2, $3, $4, $5, $6, $7)', [
    id,
    address,
    to,
    atomic,
    nonce,
    validBefore,
    signature,
  ]);
  await db.query('UPDATE deposits SET sweep_id = $2 WHERE id = $1', [depositId, id]);
  return { id, key };
}

/** That release had none for the bridge. What is there already stays. */
async function openOlderHouseWallets(): Promise<void> {
  for (const purpose of ['treasury', 'gas'] as const) {
    for (const chain of chains.networks.keys()) await addHouseWallet(db, provider, purpose, chain);
  }
}

/** As after a rotation of the seed. */
async function retireTreasury(chain: ChainId): Promise<HouseWallet> {
  const old = await houseWallet(db, 'treasury', chain);
  await db.query('UPDATE house_wallets SET retired_at = now() WHERE id = $1', [old.id]);
  await openOlderHouseWallets();
  return (await listHouseWallets(db)).find(({ id }) => id === old.id) ?? none();
}

async function move(from: HouseWallet, atomic: bigint): Promise<Started> {
  const { chain } = from;
  const to = await houseWallet(db, 'treasury', chain);
  const [id, key] = [`mov_${randomUUID()}`, randomUUID()];
  const token = facts[chain].tokens.USDC;
  const ref = await provider.sendToken({ idempotencyKey: key, from, token, to: to.address, atomic });
  await db.query(
    `INSERT INTO house_moves (id, chain, from_wallet, to_wallet, token, atomic, idempotency_key, provider_ref)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
    [id, chain, from.id, to.id, token, atomic, key, ref],
  );
  return { id, key };
}
