import { encodeFunctionData, type Hex } from 'viem';
import { multicallAbi, multicallAddress, tokenAbi } from '../../chains/abi.ts';
import type { Network } from '../../chains/network.ts';
import type { Clock } from '../../kernel/clock.ts';
import type { Queryable } from '../../kernel/db/database.ts';
import { createBriefMemory } from '../../shopping/search/brief-memory.ts';
import { createGatherer } from './gather.ts';
import { readSettled, readUnderWay } from './payers.ts';

export interface Holding {
  readonly atomic: bigint;
  /** The total that had arrived before the balance was read; what arrives later was part of that balance. */
  readonly settledBefore: bigint;
}

export interface Funds {
  /** A cached balance may accept a payment but never refuse it: the wallet may have been funded since. */
  holds(payer: Hex, wanted: bigint): Promise<Holding>;
  /** Read now. Includes payments that have moved on the chain but are not booked yet. */
  holdsNow(payer: Hex): Promise<Holding>;
  /** Never cached. */
  isUsed(payer: Hex, nonce: Hex): Promise<boolean>;
}

/** How long a balance is cached. A payer who empties the wallet meanwhile gains at most the credit limit. */
const keepMs = 2_000;
const mostRemembered = 20_000;

/** Questions that arrive while a call is under way share the next multicall. */
export function createFunds({
  db,
  network,
  token,
  clock,
}: {
  readonly db: Queryable;
  readonly network: Network;
  readonly token: Hex;
  readonly clock: Clock;
}): Funds {
  const ask = createGatherer<Hex, Hex>({
    atOnce: 200,
    mostInFlight: 2,
    run: (questions) => askToken(network, token, questions),
  });
  const remembered = createBriefMemory<Holding>({ clock, keepMs, room: mostRemembered });

  async function read(payer: Hex): Promise<Holding> {
    const settledBefore = await readSettled(db, { chain: network.id, token, payer });
    const holding = { atomic: BigInt(await ask(balanceOf(payer))), settledBefore };
    remembered.set(payer, holding);
    return holding;
  }

  return {
    async holds(payer, wanted) {
      const known = remembered.get(payer);
      return known !== undefined && known.atomic >= wanted ? known : read(payer);
    },
    async holdsNow(payer) {
      const { settled, underWay } = await readUnderWay(db, { chain: network.id, token, payer }, 'everything');
      const { balances, used } = await readWallets(
        network,
        token,
        [payer],
        underWay.map(({ nonce }) => ({ payer, nonce })),
      );
      const moved = underWay.filter((_, index) => used[index] === true);
      return {
        atomic: (balances.get(payer) ?? 0n) + moved.reduce((sum, { atomic }) => sum + atomic, 0n),
        settledBefore: settled,
      };
    },
    async isUsed(payer, nonce) {
      return BigInt(await ask(stateOf(payer, nonce))) !== 0n;
    },
  };
}

/** Balances and used nonces, all at one block. */
export async function readWallets(
  network: Network,
  token: Hex,
  payers: readonly Hex[],
  payments: readonly { readonly payer: Hex; readonly nonce: Hex }[],
): Promise<{ readonly balances: ReadonlyMap<Hex, bigint>; readonly used: readonly boolean[] }> {
  const answers = await askToken(network, token, [
    ...payers.map(balanceOf),
    ...payments.map(({ payer, nonce }) => stateOf(payer, nonce)),
  ]);
  return {
    balances: new Map(payers.map((payer, index) => [payer, BigInt(answers[index] ?? '0x0')])),
    used: payments.map((_, index) => BigInt(answers[payers.length + index] ?? '0x0') !== 0n),
  };
}

function balanceOf(payer: Hex): Hex {
  return encodeFunctionData({ abi: tokenAbi, functionName: 'balanceOf', args: [payer] });
}

function stateOf(payer: Hex, nonce: Hex): Hex {
  return encodeFunctionData({ abi: tokenAbi, functionName: 'authorizationState', args: [payer, nonce] });
}

/** One call, so all answers are from one block. */
async function askToken(network: Network, token: Hex, questions: readonly Hex[]): Promise<readonly Hex[]> {
  const { result } = await network.client.simulateContract({
    address: multicallAddress,
    abi: multicallAbi,
    functionName: 'aggregate3',
    args: [questions.map((callData) => ({ target: token, allowFailure: false, callData }))],
  });
  return result.map(({ returnData }) => returnData);
}
