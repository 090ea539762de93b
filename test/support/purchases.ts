import { toHex } from 'viem';
import { beforeAll, expect } from 'vitest';
import { reconcile } from '../../src/custody/reserves/reconcile.ts';
import { reportReserves } from '../../src/custody/reserves/report.ts';
import { houseMoveHandler, houseMoveSaga } from '../../src/custody/treasury/house-move.ts';
import { type HousePurpose, houseWallet } from '../../src/custody/wallets/house-wallets.ts';
import { monotonicClock } from '../../src/kernel/clock.ts';
import { type Caller, type IdempotencyClaim, scopes } from '../../src/kernel/http/define-route.ts';
import type { DuplicateGuard } from '../../src/kernel/http/duplicate-guard.ts';
import { Problem } from '../../src/kernel/http/problem.ts';
import { createOutgoing } from '../../src/kernel/outgoing/outgoing.ts';
import { parsePrivateHosts } from '../../src/kernel/outgoing/private-hosts.ts';
import { createMemoryLimiter } from '../../src/kernel/rate-limit/memory-limiter.ts';
import { createSagaRunner } from '../../src/kernel/sagas/run-saga.ts';
import { createSecrets } from '../../src/kernel/secrets/secrets.ts';
import { houseAccount, userAccount } from '../../src/ledger/account-id.ts';
import { createOnce } from '../../src/ledger/idempotency.ts';
import { verifyLedger } from '../../src/ledger/verify.ts';
import { amountOf } from '../../src/money/amount.ts';
import type { ChainReader } from '../../src/payments/deposits/read-chain.ts';
import { limitSearch } from '../../src/shopping/search/search-merchant.ts';
import { purchaseHandler } from '../../src/x402/buy/advance-purchase.ts';
import { type Bought, type BuyParts, buy } from '../../src/x402/buy/buy.ts';
import { fillFloat } from '../../src/x402/buy/fill-float.ts';
import { findPurchase, type Purchase } from '../../src/x402/buy/purchase.ts';
import { purchaseSaga } from '../../src/x402/buy/saga.ts';
import { noBrakes } from './brakes.ts';
import { freeConsent } from './consent.ts';
import { readUp, type User, useDepositWorld } from './deposits.ts';
import { useParser } from './parser.ts';
import type { Seller } from './seller.ts';

/** Purchases on Polygon that go on only when they are told to. Its functions may be called from the first test on. */
export function usePurchaseWorld(seller: Seller) {
  const world = useDepositWorld({ pollMs: 10 });
  const { chains, database } = world;
  const { db } = database;
  const parser = useParser();
  let reader: ChainReader | undefined;

  function parts(changed: Partial<BuyParts> = {}): BuyParts {
    const { ledger, provider, log } = world;
    const outgoing = createOutgoing({ allowPrivateHosts: parsePrivateHosts(seller.host) ?? [] });
    return {
      db,
      ledger,
      provider,
      networks: chains.networks,
      silentChains: async () => [],
      outgoing,
      parser,
      secrets: createSecrets('s'.repeat(32)),
      logger: log.logger,
      once: createOnce(db),
      calls: {
        db,
        outgoing,
        merchants: limitSearch({ search: async function* () {} }),
        publicUrl: () => 'http://127.0.0.1:1',
      },
      screening: { check: async () => ({ clear: true }) },
      publicUrl: () => 'http://127.0.0.1:1',
      timeoutMs: 10_000,
      mostSeconds: 300,
      float: amountOf('USDC', 10_000_000n),
      brakes: noBrakes,
      consent: freeConsent,
      limiter: createMemoryLimiter(monotonicClock),
      ...changed,
    };
  }

  beforeAll(async () => {
    for (const purpose of ['treasury', 'purchases'] as const) {
      const { address } = await houseWallet(db, purpose, 'MATIC');
      await chains.rpc('MATIC', 'hardhat_setBalance', [address, toHex(10n ** 20n)]);
    }
    reader = world.reader('MATIC', { leaseMs: 600_000 });
    await read();
  });

  /** Reads Polygon as far as it goes, one call after another: a reader takes one step at a time. */
  let reading = Promise.resolve();
  function read(): Promise<void> {
    const mine = reading.then(() => reader && readUp(reader));
    reading = mine.catch(() => {});
    return mine;
  }

  const handlers = (changed?: Partial<BuyParts>) => [purchaseHandler(parts(changed)), houseMoveHandler(parts(changed))];

  async function advance(saga: string, id: string, changed?: Partial<BuyParts>): Promise<void> {
    await createSagaRunner({ db, logger: world.log.logger, handlers: handlers(changed) }).advance({ saga, id });
  }

  async function look(id: string): Promise<Purchase> {
    const purchase = await findPurchase(db, id);
    if (purchase === undefined) throw new Error(`there is no purchase ${id}`);
    return purchase;
  }

  async function callerOf({ id }: User): Promise<Caller> {
    const { rows } = await db.query<{ id: string }>('SELECT id FROM api_keys WHERE account_id = $1', [id]);
    const [{ id: keyId } = { id: '' }] = rows;
    return { accountId: id, keyId, handle: 'PA-TEST', tier: 'free', scopes, bucket: 'test' };
  }

  return {
    deposits: world,
    parts,
    read,
    look,
    callerOf,
    advance: (id: string, changed?: Partial<BuyParts>) => advance(purchaseSaga.name, id, changed),
    balance: (user: User) => world.balance(user, 'USDC', 'MATIC'),

    async held(purpose: HousePurpose): Promise<bigint> {
      const { address } = await houseWallet(db, purpose, 'MATIC');
      return chains.balanceOf('MATIC', 'USDC', address);
    },

    /** Somebody with so much, which is in the treasury. */
    async newRich(atomic: bigint): Promise<User> {
      const user = await world.newUser();
      const { address } = await houseWallet(db, 'treasury', 'MATIC');
      await chains.faucet.mint({ id: `${user.id}`, chain: 'MATIC', asset: 'USDC', to: address, atomic });
      await read();
      const { outcome } = await world.ledger.post({
        type: 'gift',
        amount: amountOf('USDC', atomic),
        entries: [
          { account: houseAccount('surplus', 'USDC'), atomic: -atomic },
          { account: userAccount(user.id, 'USDC'), atomic },
        ],
      });
      expect(outcome).toBe('posted');
      return user;
    },

    /** What somebody is answered, also when that is a problem. */
    async buy(
      user: User,
      {
        key,
        method = 'GET',
        guard,
        ...changed
      }: Partial<BuyParts> & { key?: string; method?: 'GET' | 'POST'; guard?: DuplicateGuard } = {},
    ): Promise<Bought | Problem> {
      const idempotency: IdempotencyClaim | undefined =
        key === undefined ? undefined : { key, requestHash: Buffer.alloc(32, key).toString('hex') };
      return buy(parts(changed), {
        caller: await callerOf(user),
        idempotency,
        guard,
        request: { method, url: seller.url, headers: {} },
        ip: '127.0.0.1',
        maximum: amountOf('USDC', 1_000_000n),
      }).catch((error: unknown) => {
        if (error instanceof Problem) return error;
        throw error;
      });
    },

    /** The treasury fills the float with what it can spare. */
    async fillFloat(): Promise<void> {
      await fillFloat(parts());
      for (let round = 0; round < 10; round++) {
        const { rows } = await db.query<{ id: string }>('SELECT id FROM house_moves WHERE finished_at IS NULL');
        for (const { id } of rows) await advance(houseMoveSaga.name, id);
        await read();
      }
    },

    beginFilling: () => fillFloat(parts()),

    async differences(): Promise<string[]> {
      const networks = new Map([['MATIC', chains.network('MATIC')] as const]);
      const { reserves } = await reportReserves({ db, networks, logger: world.log.logger, chainTimeoutMs: 30_000 });
      return reserves.flatMap(({ asset, difference }) => (difference === '0' ? [] : [`${asset}: ${difference}`]));
    },

    async reconciled(): Promise<string[]> {
      const networks = new Map([['MATIC', chains.network('MATIC')] as const]);
      return [
        ...(await verifyLedger(db)).problems,
        ...(await reconcile({ db, networks, sagas: [purchaseSaga, houseMoveSaga] })),
      ];
    },
  };
}
