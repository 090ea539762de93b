import type { Networks } from '../../../chains/network.ts';
import { type AskedBefore, type ContractCall, ProviderError, type TokenSend } from '../../wallets/provider.ts';
import type { CircleClient } from './circle-client.ts';
import { notForCertain } from './failures.ts';
import { findKeyless } from './keyless.ts';
import { type ListedTransaction, listTransactions } from './list-transactions.ts';
import { requestKey } from './request-key.ts';

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
    throw error instanceof ProviderError ? notForCertain(error) : error;
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
