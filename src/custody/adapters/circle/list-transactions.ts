import { getAddress, isAddress } from 'viem';
import { z } from 'zod';
import { ProviderError } from '../../wallets/provider.ts';
import { transactionAnswer } from './answers.ts';
import type { CircleClient } from './circle-client.ts';

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

export type ListedTransaction = z.output<typeof listedTransaction>;

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
export async function listTransactions(
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
