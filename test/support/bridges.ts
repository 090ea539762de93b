import { beforeAll, expect } from 'vitest';
import { cctp } from '../../src/chains/cctp.ts';
import { houseWallet } from '../../src/custody/wallets/house-wallets.ts';
import type { HouseKind } from '../../src/ledger/account-id.ts';
import { amountOf } from '../../src/money/amount.ts';
import type { ChainId } from '../../src/money/catalogue.ts';
import { createIris } from '../../src/payments/bridge/adapters/iris/iris.ts';
import type { Attestation, Attestations } from '../../src/payments/bridge/attestations.ts';
import { type Bridge, findBridge } from '../../src/payments/bridge/bridge.ts';
import { bridgeHandler } from '../../src/payments/bridge/feature.ts';
import { openBridge } from '../../src/payments/bridge/open-bridge.ts';
import type { BridgeParts } from '../../src/payments/bridge/parts.ts';
import { type BridgeStatus, bridgeSaga } from '../../src/payments/bridge/saga.ts';
import { useProtocol } from './cctp.ts';
import type { ChainsOptions } from './chains.ts';
import type { User } from './deposits.ts';
import { useSagaWorld } from './saga-world.ts';

/** What the attestation service does instead of answering properly. */
type Say = (burnt: Parameters<Attestations['find']>[0]) => Promise<Attestation>;

export interface Way {
  readonly from: ChainId;
  readonly to: ChainId;
  readonly atomic: bigint;
  /** The part of it that pays for the gas. */
  readonly gasFee?: bigint;
}

const usdc = (atomic: bigint) => amountOf('USDC', atomic);

/** Bridges between Polygon and Base. */
export function useBridgeWorld(options: ChainsOptions = {}) {
  const said: Say[] = [];
  let service: Attestations | undefined;
  const world = useSagaWorld<BridgeStatus, Bridge, BridgeParts>(
    {
      saga: bridgeSaga,
      chains: ['MATIC', 'BASE'],
      purpose: 'bridge',
      events: ['bridge.completed', 'bridge.failed'],
      find: findBridge,
      handler: bridgeHandler,
      parts: ({ database: { db }, chains: { local } }) => ({
        attestations: {
          async find(burnt) {
            service ??= createIris({ db, url: local.attestationUrl });
            const say = said.shift();
            return say === undefined ? service.find(burnt) : say(burnt);
          },
        },
      }),
      spender: () => cctp.tokenMessenger,
    },
    options,
  );
  const { deposits } = world;
  const { chains } = deposits;
  const { db } = deposits.database;
  const protocol = useProtocol(chains);

  beforeAll(() => protocol.attestationsBehave({ unseenMs: 0, pendingMs: 0 }));

  return {
    ...world,
    protocol,
    owed: (kind: HouseKind, chain: ChainId) => world.owedIn(kind, 'USDC', chain),
    balance: (user: User, chain: ChainId) => deposits.balance(user, 'USDC', chain),
    allowance: (chain: ChainId) => world.allowanceOn(chain, 'USDC'),
    checkAtRest: () => world.expectAtRest(['receivables', 'bridges_in_transit'], ['USDC']),

    /** How much the USDC reserves of each chain differ. */
    async differences(): Promise<Record<string, string | null>> {
      const reserves = (await world.reserves()).filter(({ asset }) => asset === 'USDC');
      return Object.fromEntries(reserves.map(({ chain, difference }) => [chain, difference]));
    },

    /** One for each of the next questions; after them the service answers properly again. */
    attestationsSay(...say: readonly Say[]): void {
      said.push(...say);
    },

    newRich: (chain: ChainId, atomic: bigint): Promise<User> =>
      world.newRichOn(chain, [usdc(atomic)], (treasury) => chains.mint(chain, 'USDC', treasury, atomic)),

    /** Takes it from the balance; nothing is asked of anybody. */
    async open(user: User, { from, to, atomic, gasFee = 0n }: Way): Promise<string> {
      return db.transaction(async (tx) => {
        const { id, outcome } = await openBridge(tx, deposits.ledger, {
          accountId: user.id,
          from,
          to,
          amount: usdc(atomic - gasFee),
          gasFee: usdc(gasFee),
          origin: 'request',
        });
        expect(outcome.outcome).toBe('posted');
        return id;
      });
    },

    async held(purpose: 'treasury' | 'bridge', chain: ChainId): Promise<bigint> {
      const { address } = await houseWallet(db, purpose, chain);
      return chains.balanceOf(chain, 'USDC', address);
    },
  };
}
