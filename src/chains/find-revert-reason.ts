import { BaseError, type Hex, type PublicClient } from 'viem';

/**
 * Why a contract reverted a transaction. A receipt does not say, so this repeats the call as of its block without
 * sending it. Undefined when the repeated call gives no reason or the node does not answer. A single node's answer is
 * enough, because it only decides who pays the gas of a swap.
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

/** The wording differs between nodes. */
function reasonIn(text: string): string | undefined {
  return (
    /reverted with reason string '([^']+)'/.exec(text)?.[1] ?? /execution reverted:? ([^\n]+)/i.exec(text)?.[1]?.trim()
  );
}
