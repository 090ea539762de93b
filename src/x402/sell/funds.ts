import { encodeFunctionData, type Hex } from 'viem';
import { multicallAbi, multicallAddress, tokenAbi } from '../../chains/abi.ts';
import type { Network } from '../../chains/network.ts';
import type { Clock } from '../../kernel/clock.ts';
import type { Queryable } from '../../kernel/db/database.ts';
import { createBriefMemory } from '../../shopping/search/brief-memory.ts';
import { createGatherer } from './gather.ts';
import { readSettled, readUnderWay } from './payers.ts';

/** What a wallet can pay with. */
export interface Holding {
  readonly atomic: bigint;
  /** What had arrived from it, all in all, before its balance was read: whatever arrives later was part of that balance. */
  readonly settledBefore: bigint;
}

/** What the chain says of the wallets that pay. */
export interface Funds {
  /**
   * What a wallet holds. A balance of a moment ago may answer that there is enough, and never that there is too little: the wallet
   * may have been funded since.
   */
  holds(payer: Hex, wanted: bigint): Promise<Holding>;
  /** The same, read now. It includes payments that have moved on the chain and are not in our books yet. */
  holdsNow(payer: Hex): Promise<Holding>;
  /** Whether a nonce of a wallet was used. Asked of the chain every time. */
  isUsed(payer: Hex, nonce: Hex): Promise<boolean>;
}

/** For so long a balance is believed. Whoever empties the wallet meanwhile is served no more than the credit of a payer. */
const keepMs = 2_000;
const mostRemembered = 20_000;

/** Many questions are one call: a multicall of all that wait while the one before it is under way. */
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

/** What each wallet holds, and which of the payments were used already, at one block. */
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

/** One call, and so one block. */
async function askToken(network: Network, token: Hex, questions: readonly Hex[]): Promise<readonly Hex[]> {
  const { result } = await network.client.simulateContract({
    address: multicallAddress,
    abi: multicallAbi,
    functionName: 'aggregate3',
    args: [questions.map((callData) => ({ target: token, allowFailure: false, callData }))],
  });
  return result.map(({ returnData }) => returnData);
}
