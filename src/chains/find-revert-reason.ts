import { BaseError, type Hex, type PublicClient } from 'viem';

/**
 * What the contract said when it undid a transaction, which no receipt tells: the same call is made once more as of its block,
 * and comes to nothing. Undefined when that says nothing either, or the chain does not answer. One node's word: no more is decided
 * by it than who pays the gas of a swap.
 */
export async function findRevertReason(client: PublicClient, hash: Hex): Promise<string | undefined> {
  try {
    const { from: account, to, input: data, value, blockNumber } = await client.getTransaction({ hash });
    if (blockNumber === null) return undefined;
    await client.call({ account, to, data, value, blockNumber });
    return undefined;
  } catch (error) {
    return error instanceof BaseError ? reasonIn(`${error.shortMessage} ${error.details}`) : undefined;
  }
}

/** Nodes differ in their words. */
function reasonIn(text: string): string | undefined {
  return (
    /reverted with reason string '([^']+)'/.exec(text)?.[1] ?? /execution reverted:? ([^\n]+)/i.exec(text)?.[1]?.trim()
  );
}
