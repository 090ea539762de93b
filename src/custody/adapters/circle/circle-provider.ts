import type { CircleDeveloperControlledWalletsClient } from '@circle-fin/developer-controlled-wallets';
import type { Hex } from 'viem';
import { z } from 'zod';
import type { Networks } from '../../../chains/network.ts';
import type { Database } from '../../../kernel/db/database.ts';
import type { WalletMaker } from '../../wallets/pool.ts';
import type { ContractCall, TokenSend } from '../../wallets/provider.ts';
import { type CircleClientOptions, createCircleClient } from './circle-client.ts';
import { requestKey, toCircleRequest, toContractSignature, toTypedDataText } from './circle-request.ts';
import { findListed, findTaken } from './find-taken.ts';
import { lookUp } from './look-up.ts';
import { fetchNotificationKey, type NotificationKey } from './notification-keys.ts';
import { createCircleWallets } from './wallets.ts';

export interface CircleProviderParts extends CircleClientOptions {
  readonly db: Database;
  readonly networks: Networks;
  /** How long a higher fee may take effect before it is raised again. */
  readonly patienceMs?: number;
  /** How long a transaction may be missing from Circle's list after its request. */
  readonly listSettlesMs?: number;
}

/** Circle's developer-controlled wallets. Circle holds the keys; our entity secret authorizes their use. */
export interface CircleProvider extends WalletMaker {
  /** The key that Circle signs its notifications with. */
  notificationKey(id: string): Promise<NotificationKey | undefined>;
}

const transactionIdAnswer = z.object({ id: z.guid() });
const signatureAnswer = z.object({ signature: z.string().regex(/^0x[0-9a-fA-F]{130}$/) });

const fee = { type: 'level', config: { feeLevel: 'MEDIUM' } } as const;

export async function createCircleProvider(parts: CircleProviderParts): Promise<CircleProvider> {
  const { db, logger, networks, patienceMs = 60_000, listSettlesMs = 60_000 } = parts;
  const circle = createCircleClient(parts);

  async function ask(asked: TokenSend | ContractCall): Promise<string> {
    const request = toCircleRequest(networks, asked);
    // Circle does not say how long it remembers a key. A transaction that its list does not show yet is recent, so its
    // key is still known.
    const taken = asked.askedBefore && (await findListed({ circle, networks }, asked, asked.askedBefore));
    if (taken !== undefined) return taken;
    const { id } = await circle.write(transactionIdAnswer, (sdk) => {
      const key = requestKey(asked.idempotencyKey);
      // The key is also stored as the transaction's reference, to find it when the answer is lost.
      const common = { walletId: asked.from.ref, fee, idempotencyKey: key, refId: key };
      if (request.operation === 'CONTRACT_EXECUTION') {
        const { contract: contractAddress, data: callData, amount } = request;
        return sdk.createContractExecutionTransaction({
          ...common,
          contractAddress,
          callData,
          ...(amount !== '0' && { amount }),
        });
      }
      const { tokenAddress, to: destinationAddress, amount } = request;
      const transfer = {
        ...common,
        tokenAddress,
        blockchain: asked.from.chain,
        destinationAddress,
        amount: [amount],
      };
      // Circle's documentation requires the chain for a token named by address; the SDK's types lack it.
      type Request = Parameters<CircleDeveloperControlledWalletsClient['createTransaction']>[0];
      return sdk.createTransaction(transfer as unknown as Request);
    });
    return id;
  }

  return {
    name: 'circle',
    ...createCircleWallets(db, circle),

    sendToken: ask,
    execute: ask,

    findTaken: (asked, before) => findTaken({ circle, networks, listSettlesMs }, asked, before),

    async signTypedData({ ref }, typedData) {
      const data = toTypedDataText(typedData);
      const { signature } = await circle.write(signatureAnswer, (sdk) => sdk.signTypedData({ walletId: ref, data }));
      return toContractSignature(signature as Hex);
    },

    // Circle follows its own transactions and resends those that a reorg undoes.
    sendAgain: async () => {},
    lookUp: (chain, ref) => lookUp({ db, circle, networks, logger, patienceMs }, chain, ref),

    notificationKey: (id) => fetchNotificationKey(circle, id),
  };
}
