import { setTimeout as sleep } from 'node:timers/promises';
import { toHex } from 'viem';
import { expect } from 'vitest';
import { features } from '../../src/app/features.ts';
import { sagasOf } from '../../src/app/listed-feature.ts';
import { reconcile } from '../../src/custody/reserves/reconcile.ts';
import { reportReserves } from '../../src/custody/reserves/report.ts';
import type { Sweeper } from '../../src/custody/sweeps/sweep.ts';
import { freeGas } from '../../src/custody/treasury/gas-costs.ts';
import { listHouseWallets } from '../../src/custody/wallets/house-wallets.ts';
import { createSagaRunner } from '../../src/kernel/sagas/run-saga.ts';
import { claimsOf } from '../../src/ledger/balances.ts';
import { postOrThrow } from '../../src/ledger/ledger.ts';
import { toDecimalText } from '../../src/money/amount.ts';
import type { ChainId } from '../../src/money/catalogue.ts';
import { createIris } from '../../src/payments/bridge/adapters/iris/iris.ts';
import { carryHome } from '../../src/payments/bridge/carry-home.ts';
import { keepHere, listCrossChainWallets } from '../../src/payments/bridge/cross-chain-wallets.ts';
import { bridgeHandler } from '../../src/payments/bridge/feature.ts';
import type { ChainReader } from '../../src/payments/deposits/read-chain.ts';
import { listDeposits } from '../../src/payments/deposits/routes.ts';
import { sweeperByHand } from './custody.ts';
import { type DepositWorld, readUp, type User } from './deposits.ts';

/** Deposits on other chains that come home only when they are told to, so that a test can look in between. */
export interface Carrier {
  /** Sends tokens to somebody's address, and lets the chain be read that far. */
  deposit(chain: ChainId, user: Pick<User, 'address'>, atomic: bigint, asset?: 'USDC' | 'EURC'): Promise<void>;
  /** Begins what is worth it, as every process of the service does again and again. */
  carry(chain: ChainId, options?: { readonly minimum?: bigint; readonly pageSize?: number }): Promise<void>;
  /** Makes the cross-chain wallet, as POST /cross-chain/wallet does. */
  keep(chain: ChainId, user: User): Promise<void>;
  /** Takes every bridge to its end, with the sweeps that it waits for. */
  settle(): Promise<void>;
  /** Lets the bridges take their next steps once, and reads the chains. */
  advance(): Promise<void>;
  /** What is listed of somebody's deposits, oldest first. */
  listed(user: User): Promise<readonly { chain: string; amount: string; status: string; carriedBy: string | null }[]>;
  /** What is listed of somebody's wallet on a chain; undefined when it is not. */
  wallet(
    chain: ChainId,
    user: User,
  ): Promise<{ keeps: boolean; usdc: string; eurc: string | null; waiting: string } | undefined>;
  /** What is owed to somebody, spendable or not, as their proof says it. */
  claims(user: User): Promise<readonly string[]>;
  /** What we hold is what we owe, and every book agrees with every other. */
  expectWhole(): Promise<void>;
}

/** On these chains, of which the first is home. Call it in a test file's beforeAll. */
export async function carrierOf(world: DepositWorld, ids: readonly ChainId[]): Promise<Carrier> {
  const { database, chains, ledger, provider, log } = world;
  const { db } = database;
  const { logger } = log;
  const networks = new Map(ids.map((id) => [id, chains.network(id)]));
  const parts = { db, ledger, networks, provider, logger };
  const attestations = createIris({ db, url: chains.local.attestationUrl });
  const sagas = createSagaRunner({ db, logger, handlers: [bridgeHandler({ ...parts, attestations })] });
  const readers = new Map<ChainId, ChainReader>(ids.map((id) => [id, world.reader(id)]));
  const sweepers = ids.map<Sweeper>((id) =>
    sweeperByHand({ ...parts, threshold: 1n, gatherMs: 0 }, chains.network(id)),
  );
  for (const { chain, address } of await listHouseWallets(db)) {
    if (networks.has(chain)) await chains.rpc(chain, 'hardhat_setBalance', [address, toHex(10n ** 21n)]);
  }

  async function read(): Promise<void> {
    for (const reader of readers.values()) await readUp(reader);
  }
  await read();

  async function advance(): Promise<readonly string[]> {
    for (const sweeper of sweepers) await sweeper.step();
    const { rows } = await db.query<{ id: string }>('SELECT id FROM bridges WHERE finished_at IS NULL ORDER BY id');
    for (const { id } of rows) await sagas.advance({ saga: 'bridge', id });
    await read();
    return rows.map(({ id }) => id);
  }

  return {
    async deposit(chain, { address }, atomic, asset = 'USDC') {
      await chains.mint(chain, asset, address, atomic);
      await readUp(readers.get(chain) as ChainReader);
    },
    carry: (chain, { minimum = 1n, ...options } = {}) =>
      carryHome({ ...parts, gasCosts: freeGas, ...options, minimum: () => minimum }, chain),
    keep: (chain, { id }) => db.transaction(async (tx) => postOrThrow(tx, ledger, await keepHere(tx, id, chain))),
    async settle() {
      for (const deadline = performance.now() + 60_000; (await advance()).length > 0; await sleep(20)) {
        if (performance.now() > deadline) throw new Error('the bridges come to no end');
      }
    },
    advance: async () => void (await advance()),
    async listed({ id: accountId }) {
      const { deposits } = await listDeposits(db, { accountId, limit: 100, cursor: undefined });
      return deposits
        .map(({ chain, amount, status, carriedBy }) => ({ chain, amount, status, carriedBy }))
        .toReversed();
    },
    async wallet(chain, { id }) {
      const found = (await listCrossChainWallets(parts, id)).find(({ wallet }) => wallet.chain === chain);
      return (
        found && {
          keeps: found.keeps,
          usdc: toDecimalText(found.usdc),
          eurc: found.eurc && toDecimalText(found.eurc),
          waiting: toDecimalText(found.waiting),
        }
      );
    },
    async claims({ id }) {
      return (await claimsOf(db, id)).map(({ chain, total }) => `${toDecimalText(total)} ${total.asset} on ${chain}`);
    },
    async expectWhole() {
      const { reserves } = await reportReserves({ db, networks, logger, chainTimeoutMs: 20_000 });
      expect(reserves.map(({ difference }) => difference)).toEqual(reserves.map(() => '0'));
      expect(await reconcile({ db, networks, sagas: sagasOf(features) })).toEqual([]);
    },
  };
}
