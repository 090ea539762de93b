import { afterAll, beforeAll, expect, test } from 'vitest';
import { carryHome } from '../../src/bridge/carry-home.ts';
import { openBridge } from '../../src/bridge/open-bridge.ts';
import { createNetworks } from '../../src/chains/network.ts';
import { creditDeposits } from '../../src/deposits/credit-deposits.ts';
import { listDeposits } from '../../src/deposits/list-deposits.ts';
import { heldAccount, houseAccount, userAccount } from '../../src/ledger/account-id.ts';
import { balancesOf } from '../../src/ledger/balances.ts';
import { createLedger, type Ledger } from '../../src/ledger/ledger.ts';
import { newPostingId } from '../../src/ledger/posting-id.ts';
import { createLogger } from '../../src/logger.ts';
import { amountOf } from '../../src/money/amount.ts';
import { type ChainId, chainIds } from '../../src/money/catalogue.ts';
import { createKeysProvider } from '../../src/providers/keys/keys-provider.ts';
import { createSecrets } from '../../src/secrets.ts';
import { freeGas } from '../../src/treasury/gas-costs.ts';
import { addHouseWallet, listHouseWallets, openHouseWallets } from '../../src/wallets/house-wallets.ts';
import { keptChains } from '../../src/wallets/kept-chains.ts';
import type { WalletProvider } from '../../src/wallets/provider.ts';
import { createOwners } from '../support/ledger.ts';
import { useOlderDatabase } from '../support/older-database.ts';

// Everything here is done as the release before did it: what arrived was credited on the chain where it came in.
const database = useOlderDatabase({ without: '_bridges.sql' });
const { db } = database;
const logger = createLogger('silent');
/** Nobody answers there, and nobody is to be asked. */
const networks = createNetworks(
  new Map(chainIds.map((id) => [id, { urls: ['http://127.0.0.1:9'], confirmations: 1, pollMs: 100 }])),
);

const people = ['saver', 'european', 'homebody', 'spender', 'depositor'] as const;
type Person = (typeof people)[number];
const ids = {} as Record<Person, bigint>;
let ledger: Ledger;
let provider: WalletProvider;

beforeAll(async () => {
  ledger = createLedger({ db, logger });
  provider = await createKeysProvider({ db, networks, logger, secrets: createSecrets('s'.repeat(32)) });
  for (const purpose of ['treasury', 'gas'] as const) {
    for (const chain of chainIds) await addHouseWallet(db, provider, purpose, chain);
  }
  const owners = await createOwners(db, people.length);
  for (const [index, person] of people.entries()) ids[person] = owners[index]?.id ?? 0n;
  await credit('saver', 'BASE', 5_000_000n);
  await credit('saver', 'OP', 1n);
  await credit('european', 'ETH', 2_000_000n, 'EURC');
  await credit('homebody', 'MATIC', 9_000_000n);
  await credit('spender', 'ARB', 3_000_000n);
  await credit('spender', 'ARB', -3_000_000n);
  await deposit('depositor', 'AVAX', 4_000_000n);
  // The house's own, and nobody's wallet.
  await ledger.post({
    type: 'surplus',
    amount: amountOf('USDC', 7n),
    entries: [
      { account: houseAccount('custody', 'USDC', 'ARB'), atomic: -7n },
      { account: houseAccount('surplus', 'USDC', 'ARB'), atomic: 7n },
    ],
  });
  await database.upgrade();
});
afterAll(() => ledger?.stop());

async function credit(person: Person, chain: ChainId, atomic: bigint, asset: 'USDC' | 'EURC' = 'USDC', reference = '') {
  const id = newPostingId();
  const { outcome } = await ledger.post({
    id,
    type: atomic < 0n ? 'withdrawal' : 'deposit',
    amount: amountOf(asset, atomic < 0n ? -atomic : atomic),
    recipientId: ids[person],
    reference: reference || `before:${id}`,
    entries: [
      { account: houseAccount('custody', asset, chain), atomic: -atomic },
      { account: userAccount(ids[person], asset, chain), atomic },
    ],
  });
  expect(outcome).toBe('posted');
  return id;
}

const somewhere = { address: `0x${'11'.repeat(20)}`, sender: `0x${'22'.repeat(20)}` } as const;

async function deposit(person: Person, chain: ChainId, atomic: bigint): Promise<void> {
  const hash = `0x${'ab'.repeat(32)}`;
  const transferId = await credit(person, chain, atomic, 'USDC', `deposit:${chain}:${hash}:0`);
  await db.query(
    `INSERT INTO deposits (id, chain, tx_hash, position, block_number, account_id, address, sender, asset, atomic,
        transfer_id) VALUES ('dep_before', $1, $2, 0, 1, $3, $4, $5, 'USDC', $6, $7)`,
    [chain, hash, ids[person], somewhere.address, somewhere.sender, atomic, transferId],
  );
}

test('whoever has something on another chain has the wallet there, and nobody else has one', async () => {
  const kept = await Promise.all(people.map(async (person) => [person, await keptChains(db, ids[person])] as const));
  const sorted = kept.map(([person, [home, ...others]]) => [person, home, ...others.toSorted()]);
  expect(sorted).toEqual([
    ['saver', 'MATIC', 'BASE', 'OP'],
    ['european', 'MATIC', 'ETH'],
    ['homebody', 'MATIC'],
    ['spender', 'MATIC'],
    ['depositor', 'MATIC', 'AVAX'],
  ]);
});

test('what was credited before keeps its credit, and is not carried', async () => {
  for (const chain of chainIds) {
    await carryHome({ db, ledger, networks, gasCosts: freeGas, logger, minimum: () => 1n }, chain);
  }
  expect((await db.query('SELECT FROM bridges')).rowCount).toBe(0);
  const { deposits } = await listDeposits(db, { accountId: ids.depositor, limit: 10, cursor: undefined });
  expect(deposits).toMatchObject([{ chain: 'AVAX', amount: '4', status: 'credited', carriedBy: null }]);
  expect((await balancesOf(db, ids.depositor)).map(({ account, balance }) => [account, balance.atomic])).toEqual([
    [userAccount(ids.depositor, 'USDC', 'AVAX'), 4_000_000n],
  ]);
});

test('the wallets that burn, swap, settle and buy are made at the next start, beside those that were there', async () => {
  const before = await listHouseWallets(db);
  await openHouseWallets(db, provider, networks);
  await openHouseWallets(db, provider, networks);
  const after = await listHouseWallets(db);
  expect(after).toEqual(expect.arrayContaining([...before]));
  const made = after.filter(({ id }) => !before.some((old) => old.id === id));
  expect(made.map(({ purpose, chain }) => `${purpose} on ${chain}`).sort()).toEqual(
    [
      ...chainIds.map((chain) => `bridge on ${chain}`),
      ...['swaps', 'settlement', 'purchases'].map((purpose) => `${purpose} on MATIC`),
    ].sort(),
  );
});

test('what is there can be bridged, and what comes next stays for some and is held for the others', async () => {
  const { outcome } = await db.transaction((tx) =>
    openBridge(tx, ledger, {
      accountId: ids.saver,
      from: 'BASE',
      to: 'MATIC',
      amount: amountOf('USDC', 5_000_000n),
      gasFee: amountOf('USDC', 0n),
      origin: 'request',
    }),
  );
  expect(outcome).toBe('posted');
  const arrivals = people.map((person, position) => ({
    txHash: `0x${'cd'.repeat(32)}` as const,
    position,
    blockNumber: 2n,
    accountId: ids[person],
    recipient: somewhere.address,
    sender: somewhere.sender,
    asset: 'USDC' as const,
    atomic: 8n,
    proofs: [],
  }));
  await creditDeposits({ db, ledger, logger }, 'AVAX', arrivals);
  for (const person of people) {
    const has = (await balancesOf(db, ids[person])).filter(({ chain, balance }) => chain === 'AVAX' && balance.atomic);
    const expected =
      person === 'depositor'
        ? [[userAccount(ids[person], 'USDC', 'AVAX'), 4_000_008n]]
        : [[heldAccount(ids[person], 'USDC', 'AVAX'), 8n]];
    expect(
      has.map(({ account, balance }) => [account, balance.atomic]),
      person,
    ).toEqual(expected);
  }
});
