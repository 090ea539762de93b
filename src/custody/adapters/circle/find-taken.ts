import { BaseError, getAddress, type Hex, isAddress, parseEther, TransactionNotFoundError } from 'viem';
import { z } from 'zod';
import type { Network, Networks } from '../../../chains/network.ts';
import {
  type AskedBefore,
  asContractCall,
  type ContractCall,
  ProviderError,
  type TokenSend,
} from '../../wallets/provider.ts';
import { transactionAnswer } from './answers.ts';
import type { CircleClient } from './circle-client.ts';
import { type CircleRequest, requestKey, toCircleRequest } from './circle-request.ts';
import { asRetryable } from './failures.ts';

const address = z
  .string()
  .optional()
  .transform((text) => (isAddress(text ?? '', { strict: false }) ? getAddress(text ?? '') : undefined));

const listedTransaction = transactionAnswer.extend({
  refId: z.string().optional(),
  operation: z.string().optional(),
  destinationAddress: address,
  contractAddress: address,
  amounts: z.array(z.string()).optional(),
});

type ListedTransaction = z.output<typeof listedTransaction>;

const pageAnswer = z.object({ transactions: z.array(listedTransaction) });

/** Circle's limit. */
const pageSize = 50;

/** More than a wallet sends in a quarter of an hour at Circle's limit of five a second. */
const maxPages = 100;

/**
 * Every outgoing transaction of a wallet since then, oldest first. All of them or an error: an incomplete list would be
 * taken for a proof. For the same reason it includes tokens that Circle does not monitor, and continues until a page is
 * empty, whatever the page size.
 */
async function listTransactions(
  circle: CircleClient,
  { walletId, since }: { readonly walletId: string; readonly since: Date },
): Promise<readonly ListedTransaction[]> {
  const listed: ListedTransaction[] = [];
  for (let page = 0; page < maxPages; page++) {
    const pageAfter = listed.at(-1)?.id;
    const { transactions } = await circle.read(pageAnswer, (sdk) =>
      sdk.listTransactions({
        walletIds: [walletId],
        txType: 'OUTBOUND',
        includeAll: true,
        from: since.toISOString(),
        order: 'ASC',
        pageSize,
        ...(pageAfter !== undefined && { pageAfter }),
      }),
    );
    if (transactions.length === 0) return listed;
    listed.push(...transactions);
  }
  throw new ProviderError(`Circle lists more than ${maxPages} pages of transactions since ${since.toISOString()}.`, {
    retryable: true,
    code: 'provider_list_too_long',
    retryAfterMs: 60_000,
  });
}

export interface FindTakenParts {
  readonly circle: CircleClient;
  readonly networks: Networks;
  /** How long a transaction may be missing from Circle's list after its request. */
  readonly listSettlesMs: number;
}

/** How far our clock and Circle's may differ. */
const clockDifferenceMs = 10 * 60_000;

/**
 * Finds what Circle took of a request whose answer was lost. Undefined only after its list has had time to show
 * everything. Any error here proves nothing, so all are retryable.
 */
export async function findTaken(
  parts: FindTakenParts,
  asked: TokenSend | ContractCall,
  before: AskedBefore,
): Promise<string | undefined> {
  const { listSettlesMs } = parts;
  const { quietMs } = before;
  const taken = await findListed(parts, asked, before);
  if (taken === undefined && quietMs < listSettlesMs) {
    throw new ProviderError('Circle’s list does not show the transaction yet.', {
      retryable: true,
      code: 'provider_list_unsettled',
      retryAfterMs: Math.ceil(listSettlesMs - quietMs),
    });
  }
  return taken;
}

/**
 * What Circle's list shows at this moment. Circle cannot be asked for idempotency keys, but it stores ours as each
 * transaction's reference.
 */
export async function findListed(
  { circle, networks }: Pick<FindTakenParts, 'circle' | 'networks'>,
  asked: TokenSend | ContractCall,
  before: Omit<AskedBefore, 'quietMs'>,
): Promise<string | undefined> {
  try {
    const since = new Date(before.askedAt.getTime() - clockDifferenceMs);
    const listed = await listTransactions(circle, { walletId: asked.from.ref, since });
    const key = requestKey(asked.idempotencyKey);
    const taken =
      onlyOne(listed.filter(({ refId }) => refId?.toLowerCase() === key)) ??
      onlyOne(await findKeyless(networks, listed, asked, before));
    return taken?.id;
  } catch (error) {
    throw error instanceof ProviderError ? asRetryable(error) : error;
  }
}

function onlyOne(candidates: readonly ListedTransaction[]): ListedTransaction | undefined {
  if (candidates.length <= 1) return candidates[0];
  // The operator has to look at this.
  const ids = candidates.map(({ id }) => id).join(', ');
  throw new ProviderError(`Several of Circle’s transactions match the request: ${ids}.`, {
    retryable: true,
    code: 'provider_ambiguous',
    retryAfterMs: 60_000,
  });
}

/**
 * Transactions without a key that match the request: our first releases sent no key. Circle lists neither call data nor
 * token addresses, so the chain decides.
 */
async function findKeyless(
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
