import { toHex } from 'viem';
import { beforeAll, expect } from 'vitest';
import { allowanceAbi } from '../../src/chains/abi.ts';
import { tokenOf } from '../../src/chains/network.ts';
import { reconcile } from '../../src/custody/reserves/reconcile.ts';
import { reportReserves } from '../../src/custody/reserves/report.ts';
import { type ChainStepParts, listSteps } from '../../src/custody/steps/chain-step.ts';
import { type HousePurpose, houseWallet } from '../../src/custody/wallets/house-wallets.ts';
import type { Queryable } from '../../src/kernel/db/database.ts';
import type { Logger } from '../../src/kernel/log/logger.ts';
import type { Saga } from '../../src/kernel/sagas/define-saga.ts';
import { listOpenSagas } from '../../src/kernel/sagas/list-sagas.ts';
import { createSagaRunner, type SagaHandler, type SagaRunner } from '../../src/kernel/sagas/run-saga.ts';
import { type HouseKind, houseAccount, userAccount } from '../../src/ledger/account-id.ts';
import { houseBalance } from '../../src/ledger/balances.ts';
import type { Ledger } from '../../src/ledger/ledger.ts';
import { verifyLedger } from '../../src/ledger/verify.ts';
import type { Amount } from '../../src/money/amount.ts';
import type { Asset, ChainId } from '../../src/money/catalogue.ts';
import type { ChainReader } from '../../src/payments/deposits/read-chain.ts';
import type { ChainsOptions } from './chains.ts';
import { type DepositWorld, readUp, type User, useDepositWorld } from './deposits.ts';
import { createTricks } from './tricks.ts';

interface Row<State extends string> {
  readonly id: string;
  readonly status: State;
  readonly error: string | null;
}

interface CommonParts extends ChainStepParts {
  readonly ledger: Ledger;
  readonly logger: Logger;
}

interface SagaUnderTest<State extends string, One extends Row<State>, Parts extends CommonParts> {
  readonly saga: Saga<State>;
  /** The chains that are read. */
  readonly chains: readonly ChainId[];
  /** The house wallet that spends the treasury's tokens. */
  readonly purpose: HousePurpose;
  readonly events: readonly string[];
  find(db: Queryable, id: string): Promise<One | undefined>;
  handler(parts: Parts): SagaHandler;
  /** The parts that only this saga needs. */
  parts(world: DepositWorld): Omit<Parts, keyof CommonParts>;
  spender(world: DepositWorld): `0x${string}`;
}

/** A saga that advances only when a test says so, on chains that are read only then. Its functions may be called from the first test on. */
export function useSagaWorld<State extends string, One extends Row<State>, Parts extends CommonParts>(
  { saga, chains: ends, purpose, events, find, handler, ...own }: SagaUnderTest<State, One, Parts>,
  options: ChainsOptions = {},
) {
  const world: DepositWorld = useDepositWorld({ pollMs: 10, ...options });
  const { chains } = world;
  const { db } = world.database;
  const tricks = createTricks(db);
  let readers: readonly ChainReader[] = [];

  function parts(changed: Partial<Parts> = {}): Parts {
    const { ledger, log, provider } = world;
    const common = { db, ledger, provider: tricks.on(provider), networks: chains.networks, logger: log.logger };
    return { ...common, ...own.parts(world), ...changed } as Parts;
  }

  beforeAll(async () => {
    await fillTanks();
    readers = ends.map((chain) => world.reader(chain, { leaseMs: 600_000 }));
    await read();
  });

  /** Native coin for every house wallet that pays for gas. */
  async function fillTanks(): Promise<void> {
    for (const chain of ends) {
      for (const one of ['treasury', purpose] as const) {
        const { address } = await houseWallet(db, one, chain);
        await chains.rpc(chain, 'hardhat_setBalance', [address, toHex(10n ** 20n)]);
      }
    }
  }

  /** Reads the chains as far as they go. */
  async function read(): Promise<void> {
    for (const reader of readers) await readUp(reader);
  }

  async function look(id: string): Promise<One> {
    const row = await find(db, id);
    if (row === undefined) throw new Error(`there is no ${saga.name} ${id}`);
    return row;
  }

  let runner: SagaRunner | undefined;
  const runnerOf = (changed?: Partial<Parts>) =>
    createSagaRunner({ db, logger: world.log.logger, handlers: [handler(parts(changed))] });

  /** One process takes it as far as it goes now. */
  async function advance(id: string): Promise<void> {
    runner ??= runnerOf();
    await runner.advance({ saga: saga.name, id });
  }

  /** One step of it and no more, as a process takes it that is ended right after. */
  async function step(id: string): Promise<void> {
    const row = await look(id);
    await handler(parts()).steps[row.status]?.(row);
  }

  const waitsFor = async (id: string) => (await listOpenSagas(db, [saga], { id }))[0]?.waitsFor;

  /** Lets it go on, and reads the chains, until it is where it should be. */
  async function goOn(id: string, until: State, go = advance): Promise<One> {
    for (let round = 0; round < 25; round++) {
      const row = await look(id);
      if (row.status === until) return row;
      await go(id);
      await read();
    }
    const { status, error } = await look(id);
    throw new Error(`it is ${status} (${error}) and not ${until}: it waits for ${await waitsFor(id)}`);
  }

  const owedIn = async (kind: HouseKind, asset: Asset, chain: ChainId) =>
    (await houseBalance(db, kind, asset, chain)).atomic;

  const networks = () => new Map(ends.map((chain) => [chain, chains.network(chain)]));

  const reserves = async () =>
    (await reportReserves({ db, networks: networks(), logger: world.log.logger, chainTimeoutMs: 30_000 })).reserves;

  return {
    deposits: world,
    parts,
    runnerOf,
    advance,
    step,
    look,
    goOn,
    read,
    /** One step of whoever reads the first chain, which may be one back. */
    readOnce: async () => void (await readers[0]?.step()),
    fillTanks,
    waitsFor,
    owedIn,
    reserves,
    steps: (id: string) => listSteps(db, id),
    providerPlays: tricks.play,
    forgetTricks: tricks.forget,

    /** Whether an operator sees it as stuck so much later. */
    async isStuck(id: string, laterMs: number): Promise<boolean> {
      return (await listOpenSagas(db, [saga], { id, laterMs }))[0]?.stuck === true;
    },

    /** An account with these amounts on a chain; `mint` has put them into the treasury there. */
    async newRichOn(
      chain: ChainId,
      amounts: readonly Amount[],
      mint: (to: `0x${string}`, user: User) => Promise<unknown>,
    ) {
      const { ledger } = world;
      const user = await world.newUser();
      for (const event of events) {
        await db.query('INSERT INTO ledger.event_subscriptions (account_id, type) VALUES ($1, $2)', [user.id, event]);
      }
      await mint((await houseWallet(db, 'treasury', chain)).address, user);
      await read();
      for (const amount of amounts) {
        const { asset, atomic } = amount;
        const { outcome } = await ledger.post({
          type: 'gift',
          amount,
          entries: [
            { account: houseAccount('surplus', asset, chain), atomic: -atomic },
            { account: userAccount(user.id, asset, chain), atomic },
          ],
        });
        expect(outcome).toBe('posted');
      }
      return user;
    },

    /** The allowance that the wallet of this saga has granted. */
    async allowanceOn(chain: ChainId, asset: Asset): Promise<bigint> {
      const network = chains.network(chain);
      const token = tokenOf(network, asset);
      if (token === undefined) throw new Error(`there is no ${asset} on ${chain}`);
      const { address } = await houseWallet(db, purpose, chain);
      return network.client.readContract({
        address: token.address,
        abi: allowanceAbi,
        functionName: 'allowance',
        args: [address, own.spender(world)],
      });
    },

    /** The names of an account's events, in order. */
    async eventsOf({ id }: User): Promise<string[]> {
      const { rows } = await db.query<{ type: string }>(
        'SELECT type FROM ledger.events WHERE account_id = $1 ORDER BY id',
        [id],
      );
      return rows.map(({ type }) => type);
    },

    /** Nothing is under way in these accounts, and every book agrees with every other and with the chains. */
    async expectAtRest(kinds: readonly HouseKind[], assets: readonly Asset[]): Promise<void> {
      await read();
      for (const chain of ends) {
        for (const asset of assets) {
          for (const kind of kinds) expect(await owedIn(kind, asset, chain), `${kind}: ${asset} on ${chain}`).toBe(0n);
        }
      }
      expect((await reserves()).filter(({ difference }) => difference !== '0')).toEqual([]);
      expect((await verifyLedger(db)).problems).toEqual([]);
      expect(await reconcile({ db, networks: networks(), sagas: [saga] })).toEqual([]);
    },
  };
}
