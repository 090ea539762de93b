import { toHex } from 'viem';
import { beforeAll, expect } from 'vitest';
import { allowanceAbi } from '../../src/chains/abi.ts';
import { cctp } from '../../src/chains/cctp.ts';
import { reconcile } from '../../src/custody/reserves/reconcile.ts';
import { reportReserves } from '../../src/custody/reserves/report.ts';
import { listSteps } from '../../src/custody/steps/chain-step.ts';
import { houseWallet } from '../../src/custody/wallets/house-wallets.ts';
import { listOpenSagas } from '../../src/kernel/sagas/list-sagas.ts';
import { createSagaRunner, type SagaRunner } from '../../src/kernel/sagas/run-saga.ts';
import { type HouseKind, houseAccount, userAccount } from '../../src/ledger/account-id.ts';
import { houseBalance } from '../../src/ledger/balances.ts';
import { verifyLedger } from '../../src/ledger/verify.ts';
import { amountOf } from '../../src/money/amount.ts';
import { type ChainId, chains as facts } from '../../src/money/catalogue.ts';
import { createIris } from '../../src/payments/bridge/adapters/iris/iris.ts';
import { bridgeHandler } from '../../src/payments/bridge/advance-bridge.ts';
import type { Attestation, Attestations } from '../../src/payments/bridge/attestations.ts';
import { type Bridge, findBridge } from '../../src/payments/bridge/bridge.ts';
import { openBridge } from '../../src/payments/bridge/open-bridge.ts';
import type { BridgeParts } from '../../src/payments/bridge/parts.ts';
import { bridgeSaga } from '../../src/payments/bridge/saga.ts';
import type { ChainReader } from '../../src/payments/deposits/read-chain.ts';
import { useProtocol } from './cctp.ts';
import type { ChainsOptions } from './chains.ts';
import { type DepositWorld, readUp, type User, useDepositWorld } from './deposits.ts';
import { createTricks } from './tricks.ts';

/** What the attestation service does instead of answering properly. */
type Say = (burnt: Parameters<Attestations['find']>[0]) => Promise<Attestation>;

export interface Way {
  readonly from: ChainId;
  readonly to: ChainId;
  readonly atomic: bigint;
  /** What of it pays for the gas. */
  readonly gasFee?: bigint;
}

const usdc = (atomic: bigint) => amountOf('USDC', atomic);

/** The chains that are read, the same in every test. */
const ends = ['MATIC', 'BASE'] as const satisfies readonly ChainId[];

/** Bridges between Polygon and Base that go on only when they are told to. Its functions may be called from the first test on. */
export function useBridgeWorld(options: ChainsOptions = {}) {
  const world: DepositWorld = useDepositWorld({ pollMs: 10, ...options });
  const { chains } = world;
  const { db } = world.database;
  const protocol = useProtocol(chains);
  const said: Say[] = [];
  const tricks = createTricks(db);
  let service: Attestations | undefined;
  let readers: readonly ChainReader[] = [];

  const attestations: Attestations = {
    async find(burnt) {
      service ??= createIris({ db, url: chains.local.attestationUrl });
      const say = said.shift();
      return say === undefined ? service.find(burnt) : say(burnt);
    },
  };

  function parts(changed: Partial<BridgeParts> = {}): BridgeParts {
    const { ledger, log } = world;
    return {
      db,
      ledger,
      provider: tricks.on(world.provider),
      networks: chains.networks,
      attestations,
      logger: log.logger,
      ...changed,
    };
  }

  beforeAll(async () => {
    await protocol.attestationsBehave({ unseenMs: 0, pendingMs: 0 });
    await fillTanks();
    readers = ends.map((chain) => world.reader(chain, { leaseMs: 600_000 }));
    await read();
  });

  /** Native coin for every house wallet that pays for gas. */
  async function fillTanks(): Promise<void> {
    const { rows } = await db.query<{ chain: ChainId; address: string }>(
      "SELECT chain, address FROM house_wallets WHERE purpose IN ('treasury', 'bridge') AND chain = ANY ($1)",
      [ends],
    );
    for (const { chain, address } of rows) await chains.rpc(chain, 'hardhat_setBalance', [address, toHex(10n ** 20n)]);
  }

  /** Reads both chains as far as they go. */
  async function read(): Promise<void> {
    for (const reader of readers) await readUp(reader);
  }

  async function look(id: string): Promise<Bridge> {
    const bridge = await findBridge(db, id);
    if (bridge === undefined) throw new Error(`there is no bridge ${id}`);
    return bridge;
  }

  let runner: SagaRunner | undefined;
  const runnerOf = (changed?: Partial<BridgeParts>) => {
    const { log } = world;
    return createSagaRunner({ db, logger: log.logger, handlers: [bridgeHandler(parts(changed))] });
  };

  /** One process takes it as far as it goes now. */
  async function advance(id: string): Promise<void> {
    runner ??= runnerOf();
    await runner.advance({ saga: bridgeSaga.name, id });
  }

  /** One step of it and no more, as a process takes it that is ended right after. */
  async function step(id: string): Promise<void> {
    const { steps } = bridgeHandler(parts());
    const bridge = await look(id);
    await steps[bridge.status]?.(bridge);
  }

  /** Lets it go on, and reads the chains, until it is where it should be. */
  async function goOn(id: string, until: Bridge['status'], go = advance): Promise<Bridge> {
    for (let round = 0; round < 25; round++) {
      const bridge = await look(id);
      if (bridge.status === until) return bridge;
      await go(id);
      await read();
    }
    const { status } = await look(id);
    throw new Error(`it is ${status} and not ${until}: it waits for ${await waitsFor(id)}`);
  }

  const waitsFor = async (id: string) => (await listOpenSagas(db, [bridgeSaga], { id }))[0]?.waitsFor;

  const owed = async (kind: HouseKind, chain: ChainId) => (await houseBalance(db, kind, 'USDC', chain)).atomic;

  /** What reserves differ by on each chain that was read. */
  async function differences(): Promise<Record<string, string | null>> {
    const { log } = world;
    const { reserves } = await reportReserves({
      db,
      networks: chains.networks,
      logger: log.logger,
      chainTimeoutMs: 30_000,
    });
    return Object.fromEntries(
      reserves.filter(({ asset }) => asset === 'USDC').map(({ chain, difference }) => [chain, difference]),
    );
  }

  return {
    deposits: world,
    protocol,
    parts,
    runnerOf,
    advance,
    step,
    look,
    goOn,
    read,
    /** One step of whoever reads Polygon, which may be one back. */
    readOnce: async () => void (await readers[0]?.step()),
    fillTanks,
    waitsFor,
    owed,
    differences,
    steps: (id: string) => listSteps(db, id),
    balance: (user: User, chain: ChainId) => world.balance(user, 'USDC', chain),

    /** From now on, one for each time that it is asked; then it answers properly again. */
    attestationsSay(...say: readonly Say[]): void {
      said.push(...say);
    },
    providerPlays: tricks.play,
    forgetTricks: tricks.forget,

    /** Somebody with so much on a chain, which is in the treasury there. */
    async newRich(chain: ChainId, atomic: bigint): Promise<User> {
      const { ledger } = world;
      const user = await world.newUser();
      await db.query(
        "INSERT INTO ledger.event_subscriptions (account_id, type) VALUES ($1, 'bridge.completed'), ($1, 'bridge.failed')",
        [user.id],
      );
      const { address } = await houseWallet(db, 'treasury', chain);
      await chains.mint(chain, 'USDC', address, atomic);
      await read();
      const { outcome } = await ledger.post({
        type: 'gift',
        amount: usdc(atomic),
        entries: [
          { account: houseAccount('surplus', 'USDC', chain), atomic: -atomic },
          { account: userAccount(user.id, 'USDC', chain), atomic },
        ],
      });
      expect(outcome).toBe('posted');
      return user;
    },

    /** Takes it from the balance; nothing is asked of anybody. */
    async open(user: User, { from, to, atomic, gasFee = 0n }: Way): Promise<string> {
      const { ledger } = world;
      return db.transaction(async (tx) => {
        const { id, outcome } = await openBridge(tx, ledger, {
          accountId: user.id,
          from,
          to,
          amount: usdc(atomic - gasFee),
          gasFee: usdc(gasFee),
          origin: 'request',
        });
        expect(outcome).toBe('posted');
        return id;
      });
    },

    /** Whether an operator sees it as stuck so much later. */
    async isStuck(id: string, laterMs: number): Promise<boolean> {
      return (await listOpenSagas(db, [bridgeSaga], { id, laterMs }))[0]?.stuck === true;
    },

    /** What the protocol may take from the wallet that burns. */
    async allowance(chain: ChainId): Promise<bigint> {
      const { address } = await houseWallet(db, 'bridge', chain);
      return chains.network(chain).client.readContract({
        address: facts[chain].tokens.USDC,
        abi: allowanceAbi,
        functionName: 'allowance',
        args: [address, cctp.tokenMessenger],
      });
    },

    async held(purpose: 'treasury' | 'bridge', chain: ChainId): Promise<bigint> {
      const { address } = await houseWallet(db, purpose, chain);
      return chains.balanceOf(chain, 'USDC', address);
    },

    /** What became of somebody's bridges, in the names of events. */
    async eventsOf({ id }: User): Promise<string[]> {
      const { rows } = await db.query<{ type: string }>(
        'SELECT type FROM ledger.events WHERE account_id = $1 ORDER BY id',
        [id],
      );
      return rows.map(({ type }) => type);
    },

    /** Nothing is under way and every book agrees with every other and with the chains. */
    async checkAtRest(): Promise<void> {
      await read();
      for (const chain of ends) {
        expect(await owed('receivables', chain), `receivables on ${chain}`).toBe(0n);
        expect(await owed('bridges_in_transit', chain), `in transit on ${chain}`).toBe(0n);
      }
      expect(await differences()).toEqual(Object.fromEntries(ends.map((chain) => [chain, '0'])));
      expect((await verifyLedger(db)).problems).toEqual([]);
      const networks = new Map(ends.map((chain) => [chain, chains.network(chain)]));
      expect(await reconcile({ db, networks, sagas: [bridgeSaga] })).toEqual([]);
    },
  };
}
