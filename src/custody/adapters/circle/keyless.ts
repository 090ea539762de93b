import { BaseError, getAddress, type Hex, parseEther, TransactionNotFoundError } from 'viem';
import type { Network, Networks } from '../../../chains/network.ts';
import { asContractCall } from '../../wallets/as-contract-call.ts';
import { type AskedBefore, type ContractCall, ProviderError, type TokenSend } from '../../wallets/provider.ts';
import { type CircleRequest, toCircleRequest } from './circle-request.ts';
import type { ListedTransaction } from './list-transactions.ts';

/**
 * Transactions without a key that match the request: our first releases sent no key. Circle lists neither call data nor
 * token addresses, so the chain decides.
 */
export async function findKeyless(
  networks: Networks,
  listed: readonly ListedTransaction[],
  asked: TokenSend | ContractCall,
  { belongsToAnother = async () => false }: Pick<AskedBefore, 'belongsToAnother'>,
): Promise<readonly ListedTransaction[]> {
  const request = toCircleRequest(networks, asked);
  const found: ListedTransaction[] = [];
  for (const transaction of listed) {
    if (transaction.refId || movedNothing(transaction) || isSomethingElse(transaction, request)) continue;
    if (await belongsToAnother(transaction.id)) continue;
    if (await didOnChain(networks.get(asked.from.chain), transaction, asContractCall(asked))) found.push(transaction);
  }
  return found;
}

/** It ended unsigned, so it moved nothing. */
function movedNothing({ state, txHash }: ListedTransaction): boolean {
  return txHash === undefined && ['FAILED', 'DENIED', 'CANCELLED'].includes(state);
}

/** Excludes only what Circle's list contradicts. Missing or differently written fields are left to the chain. */
function isSomethingElse(transaction: ListedTransaction, request: CircleRequest): boolean {
  const { operation, destinationAddress, contractAddress, amounts } = transaction;
  if (operation !== undefined && operation !== request.operation) return true;
  const [listed, wanted] =
    request.operation === 'TRANSFER' ? [destinationAddress, request.to] : [contractAddress, request.contract];
  if (listed !== undefined && listed !== getAddress(wanted)) return true;
  return request.operation === 'TRANSFER' && isOtherNumber(amounts?.[0], request.amount);
}

/** No token of ours has more decimals than native coin. */
function isOtherNumber(text: string | undefined, wanted: string): boolean {
  return text !== undefined && /^\d{1,30}(\.\d{1,18})?$/.test(text) && parseEther(text) !== parseEther(wanted);
}

async function didOnChain(
  network: Network | undefined,
  { id, txHash }: ListedTransaction,
  { from, contract, data, value = 0n }: ContractCall,
): Promise<boolean> {
  if (network === undefined || txHash === undefined)
    throw undecided(`${id} is on a chain that is not configured, or has no hash`);
  const sent = await findSent(network, txHash);
  return (
    getAddress(sent.from) === getAddress(from.address) &&
    sent.to !== null &&
    getAddress(sent.to) === getAddress(contract) &&
    sent.input === data.toLowerCase() &&
    sent.value === value
  );
}

async function findSent({ client }: Network, hash: Hex) {
  try {
    return await client.getTransaction({ hash });
  } catch (error) {
    if (error instanceof TransactionNotFoundError) throw undecided(`the chain does not know ${hash}`);
    throw undecided(`the chain does not answer: ${error instanceof BaseError ? error.shortMessage : String(error)}`);
  }
}

function undecided(why: string): ProviderError {
  return new ProviderError(`It is not yet known whether Circle took the request: ${why}.`, {
    retryable: true,
    code: 'provider_list_unsettled',
    retryAfterMs: 5_000,
  });
}
