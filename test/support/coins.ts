import { type Hex, toHex } from 'viem';
import { beforeAll, expect } from 'vitest';
import { reconcile } from '../../src/custody/reserves/reconcile.ts';
import { reportReserves } from '../../src/custody/reserves/report.ts';
import { coinSweepHandler } from '../../src/custody/sweeps/advance-coin-sweep.ts';
import { createSweeper, type SweepOptions } from '../../src/custody/sweeps/sweep.ts';
import { gasFloat } from '../../src/custody/treasury/add-float.ts';
import { houseWallet } from '../../src/custody/wallets/house-wallets.ts';
import { createSagaRunner } from '../../src/kernel/sagas/run-saga.ts';
import { type HouseKind, houseAccount } from '../../src/ledger/account-id.ts';
import { houseBalance } from '../../src/ledger/balances.ts';
import { verifyLedger } from '../../src/ledger/verify.ts';
import { amountOf } from '../../src/money/amount.ts';
import type { Coin } from '../../src/money/catalogue.ts';
import { withdrawalFee } from '../../src/money/fees.ts';
import type { ChainReader } from '../../src/payments/deposits/read-chain.ts';
import { withdrawalHandler } from '../../src/payments/withdrawals/advance-withdrawal.ts';
import { openWithdrawal } from '../../src/payments/withdrawals/open-withdrawal.ts';
import {
  findWithdrawal,
  type Withdrawal,
  type WithdrawalSagaParts,
} from '../../src/payments/withdrawals/withdrawal.ts';
import type { ChainsOptions } from './chains.ts';
import { readUp, type User, useDepositWorld } from './deposits.ts';
import { createTricks } from './tricks.ts';

/** What each withdrawal here counts as, in millionths of a USDC. */
export const coinValue = 1_000_000n;

/** What each coin is called on the chain, where MATIC is the native coin. */
export const tokenNames = { DAI: 'DAI', ETH: 'ETH', MATIC: 'WMATIC' } as const satisfies Record<Coin, string>;

const tank = 10n ** 20n;

/** Coins on Polygon that move only when they are told to. Its functions may be called from the first test on. */
export function useCoinWorld(options: ChainsOptions = {}) {
  const world = useDepositWorld({ pollMs: 10, ...options });
  const { chains } = world;
  const { db } = world.database;
  const tricks = createTricks(db);
  const flagged = new Set<Hex>();
  let reader: ChainReader | undefined;

  function parts(changed: Partial<WithdrawalSagaParts> = {}): WithdrawalSagaParts {
    const screening: WithdrawalSagaParts['screening'] = {
      check: async ({ address }) =>
        flagged.has(address) ? { clear: false, reason: 'it is on the list' } : { clear: true },
    };
    const { ledger, log, provider } = world;
    return {
      db,
      ledger,
      provider: tricks.on(provider),
      networks: chains.networks,
      screening,
      logger: log.logger,
      ...changed,
    };
  }

  beforeAll(async () => {
    for (const purpose of ['treasury', 'gas'] as const) {
      const { address } = await houseWallet(db, purpose, 'MATIC');
      await chains.rpc('MATIC', 'hardhat_setBalance', [address, toHex(tank)]);
      await world.ledger.post(gasFloat('MATIC', amountOf('MATIC', tank)));
    }
    reader = world.reader('MATIC', { leaseMs: 600_000 });
    await read();
  });

  /** Reads Polygon as far as it goes. */
  async function read(): Promise<void> {
    if (reader !== undefined) await readUp(reader);
  }

  const runner = (changed?: Partial<WithdrawalSagaParts>) =>
    createSagaRunner({
      db,
      logger: world.log.logger,
      handlers: [coinSweepHandler(parts(changed)), withdrawalHandler(parts(changed))],
    });

  /** As somebody outside does it. */
  async function deposit(user: User, coin: Coin, atomic: bigint): Promise<void> {
    await chains.mint('MATIC', tokenNames[coin], user.address, atomic);
    await read();
  }

  const openSweeps = async () =>
    (await db.query<{ id: string }>('SELECT id FROM coin_sweeps WHERE finished_at IS NULL ORDER BY id')).rows;

  /** Opens what is to be swept, and takes no step of it. */
  async function openSweep(changed: Partial<SweepOptions> = {}): Promise<void> {
    await createSweeper({ ...parts(), threshold: 1n, gatherMs: 0, ...changed }, chains.network('MATIC')).step();
  }

  /** One process takes every open sweep as far as it goes now. */
  async function advanceSweeps(changed?: Partial<WithdrawalSagaParts>): Promise<void> {
    for (const { id } of await openSweeps()) await runner(changed).advance({ saga: 'coin_sweep', id });
  }

  /** Until everything that was deposited lies in the treasury; what is looked at in between may be said. */
  async function sweep(inBetween: () => Promise<unknown> = async () => {}): Promise<void> {
    for (let round = 0; round < 40; round++) {
      await openSweep();
      if ((await openSweeps()).length === 0) return;
      await advanceSweeps();
      await inBetween();
      await read();
      await inBetween();
    }
    throw new Error('the sweeps come to no end');
  }

  /** What the reserves differ by, of everything that is held on Polygon. */
  async function differences(): Promise<Record<string, string | null>> {
    const networks = new Map([['MATIC', chains.network('MATIC')] as const]);
    const { reserves } = await reportReserves({ db, networks, logger: world.log.logger, chainTimeoutMs: 30_000 });
    return Object.fromEntries(reserves.map(({ asset, difference }) => [asset, difference]));
  }

  const look = async (id: string): Promise<Withdrawal> => {
    const found = await findWithdrawal(db, id);
    if (found === undefined) throw new Error(`there is no withdrawal ${id}`);
    return found;
  };

  const ledgerOf = async (kind: HouseKind, coin: Coin) => (await houseBalance(db, kind, coin, 'MATIC')).atomic;

  return {
    world,
    chains,
    db,
    tricks,
    /** Addresses that the screening finds suspicious. */
    flagged,
    parts,
    read,
    deposit,
    openSweep,
    openSweeps,
    advanceSweeps,
    sweep,
    differences,
    look,
    ledgerOf,
    /** In the books and on the chain everything agrees, for all five assets. */
    async expectAgreement(): Promise<void> {
      expect(await differences()).toEqual({ USDC: '0', EURC: '0', DAI: '0', ETH: '0', MATIC: '0' });
    },
    async expectNothingDrifted(): Promise<void> {
      expect((await verifyLedger(db)).problems).toEqual([]);
      const networks = new Map([['MATIC', chains.network('MATIC')] as const]);
      expect(await reconcile({ db, networks, sagas: [] })).toEqual([]);
    },
    /** Takes it from the balance; nothing is sent. */
    async withdraw(user: User, coin: Coin, { gross, to }: { gross: bigint; to: Hex }): Promise<Withdrawal> {
      const amount = amountOf(coin, gross);
      const id = await db.transaction(async (tx) => {
        const opened = await openWithdrawal(tx, world.ledger, {
          accountId: user.id,
          chain: 'MATIC',
          address: to,
          gross: amount,
          fee: withdrawalFee(amount),
          value: coinValue,
        });
        if (opened.outcome.outcome !== 'posted') throw new Error('the withdrawal was not opened');
        return opened.id;
      });
      return look(id);
    },
    advance: (id: string, changed?: Partial<WithdrawalSagaParts>) =>
      runner(changed).advance({ saga: 'withdrawal', id }),
    /** Lets it go on, and reads the chain, until it is where it should be. */
    async goOn(
      id: string,
      until: Withdrawal['status'],
      inBetween: () => Promise<unknown> = async () => {},
    ): Promise<Withdrawal> {
      for (let round = 0; round < 40; round++) {
        const withdrawal = await look(id);
        if (withdrawal.status === until) return withdrawal;
        await runner().advance({ saga: 'withdrawal', id });
        await inBetween();
        await read();
        await inBetween();
      }
      const { status, error } = await look(id);
      throw new Error(`it is ${status} (${error}) and not ${until}`);
    },
    /** One step of it and no more, as a process takes it that is ended right after. */
    async step(id: string): Promise<void> {
      const withdrawal = await look(id);
      await withdrawalHandler(parts()).steps[withdrawal.status]?.(withdrawal);
    },
    accountOf: (kind: HouseKind, coin: Coin) => houseAccount(kind, coin, 'MATIC'),
  };
}
