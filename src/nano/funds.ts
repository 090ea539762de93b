import { encodeFunctionData, type Hex } from 'viem';
import { multicallAbi, multicallAddress, tokenAbi } from '../chains/abi.ts';
import type { Network } from '../chains/network.ts';
import type { Clock } from '../clock.ts';
import { createBriefMemory } from '../shopping/brief-memory.ts';
import { createGatherer } from './gather.ts';

/** What the chain says of those who pay. */
export interface Funds {
  /** What a wallet holds, as of a moment ago. */
  balanceOf(payer: Hex): Promise<bigint>;
  /** Whether a nonce of a wallet was used. Asked of the chain every time. */
  isUsed(payer: Hex, nonce: Hex): Promise<boolean>;
}

/** For so long a balance is believed. Whoever empties the wallet meanwhile is served no more than the credit of a payer. */
const keepMs = 2_000;
const mostRemembered = 20_000;

/** Many questions are one call: a multicall of all that wait while the one before it is under way. */
export function createFunds({
  network,
  token,
  clock,
}: {
  readonly network: Network;
  readonly token: Hex;
  readonly clock: Clock;
}): Funds {
  const ask = createGatherer<Hex, Hex>({
    atOnce: 200,
    mostInFlight: 2,
    async run(questions) {
      const { result } = await network.client.simulateContract({
        address: multicallAddress,
        abi: multicallAbi,
        functionName: 'aggregate3',
        args: [questions.map((callData) => ({ target: token, allowFailure: false, callData }))],
      });
      return result.map(({ returnData }) => returnData);
    },
  });
  const balances = createBriefMemory<Promise<bigint>>({ clock, keepMs, room: mostRemembered });

  return {
    balanceOf(payer) {
      const known = balances.get(payer);
      if (known !== undefined) return known;
      const asked = ask(encodeFunctionData({ abi: tokenAbi, functionName: 'balanceOf', args: [payer] })).then(BigInt);
      balances.set(payer, asked);
      asked.catch(() => balances.forget(payer));
      return asked;
    },
    async isUsed(payer, nonce) {
      const args = [payer, nonce] as const;
      return BigInt(await ask(encodeFunctionData({ abi: tokenAbi, functionName: 'authorizationState', args }))) !== 0n;
    },
  };
}
