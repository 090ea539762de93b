import type { CircleDeveloperControlledWalletsClient } from '@circle-fin/developer-controlled-wallets';
import { formatEther, formatUnits, getAddress, type Hex } from 'viem';
import { z } from 'zod';
import type { Networks } from '../../chains/network.ts';
import type { Database } from '../../db/database.ts';
import type { Logger } from '../../logger.ts';
import { decimalsOf } from '../../money/asset.ts';
import { type HeldWallet, ProviderError, type TokenSend, type WalletProvider } from '../../wallets/provider.ts';
import { accelerate } from './accelerate.ts';
import { type CallLimits, createCircleClient } from './circle-client.ts';
import { lookUp } from './look-up.ts';
import { fetchNotificationKey, type NotificationKey } from './notification-key.ts';
import { requestKey } from './request-key.ts';
import { toContractSignature, toTypedDataText } from './typed-data.ts';
import { type CircleWallets, createCircleWallets } from './wallets.ts';

export interface CircleProviderParts {
  readonly apiKey: string;
  readonly entitySecret: string;
  /** Circle's own servers when it is not set. */
  readonly baseUrl?: string | undefined;
  readonly db: Database;
  readonly logger: Logger;
  readonly networks: Networks;
  readonly limits?: Partial<CallLimits>;
  /** How long a higher fee is given to work before it is raised once more. */
  readonly patienceMs?: number;
}

/** Circle's developer-controlled wallets. Circle holds the keys; our entity secret is what lets it use them. */
export interface CircleProvider extends WalletProvider {
  readonly createWallets: CircleWallets['createWallets'];
  /** The key that Circle signs its notifications with. */
  notificationKey(id: string): Promise<NotificationKey | undefined>;
}

const transactionIdAnswer = z.object({ id: z.guid() });
const signatureAnswer = z.object({ signature: z.string().regex(/^0x[0-9a-fA-F]{130}$/) });

/** How eager Circle is to have a transaction mined. */
const fee = { type: 'level', config: { feeLevel: 'MEDIUM' } } as const;

export async function createCircleProvider(parts: CircleProviderParts): Promise<CircleProvider> {
  const { apiKey, entitySecret, baseUrl, db, logger, networks, limits, patienceMs = 60_000 } = parts;
  const circle = createCircleClient({ apiKey, entitySecret, baseUrl, logger, ...(limits && { limits }) });

  interface Transfer {
    readonly from: HeldWallet;
    /** Empty for the chain's own coin. */
    readonly tokenAddress: Hex | '';
    readonly to: Hex;
    readonly amount: string;
    readonly idempotencyKey: string;
  }

  async function transfer({ from, tokenAddress, to, amount, idempotencyKey }: Transfer): Promise<string> {
    const request = {
      walletId: from.ref,
      tokenAddress,
      blockchain: from.chain,
      destinationAddress: to,
      amount: [amount],
      fee,
      idempotencyKey: requestKey(idempotencyKey),
    };
    // Circle's description asks for the chain of a token that is named by its address; the SDK's types do not know that.
    type Request = Parameters<CircleDeveloperControlledWalletsClient['createTransaction']>[0];
    const { id } = await circle.write(transactionIdAnswer, (sdk) =>
      sdk.createTransaction(request as unknown as Request),
    );
    return id;
  }

  return {
    name: 'circle',
    ...createCircleWallets(db, circle),

    async sendToken({ from, token, to, atomic, idempotencyKey }) {
      const amount = formatUnits(atomic, decimalsOfToken(networks, { from, token }));
      return transfer({ from, tokenAddress: token, to, amount, idempotencyKey });
    },

    async execute({ from, contract, data, value = 0n, idempotencyKey }) {
      // Without data it is no call, but native coin on its way.
      if (data === '0x') {
        return transfer({ from, tokenAddress: '', to: contract, amount: formatEther(value), idempotencyKey });
      }
      const { id } = await circle.write(transactionIdAnswer, (sdk) =>
        sdk.createContractExecutionTransaction({
          walletId: from.ref,
          contractAddress: contract,
          callData: data,
          ...(value > 0n && { amount: formatEther(value) }),
          fee,
          idempotencyKey: requestKey(idempotencyKey),
        }),
      );
      return id;
    },

    async signTypedData({ ref }, typedData) {
      const data = toTypedDataText(typedData);
      const { signature } = await circle.write(signatureAnswer, (sdk) => sdk.signTypedData({ walletId: ref, data }));
      return toContractSignature(signature as Hex);
    },

    lookUp: (chain, ref) =>
      lookUp(
        { circle, networks, logger, accelerate: (id) => accelerate({ db, circle, logger, patienceMs }, id) },
        chain,
        ref,
      ),

    notificationKey: (id) => fetchNotificationKey(circle, id),
  };
}

/** Circle counts in decimal numbers, so we must know how fine a token is divided. */
function decimalsOfToken(networks: Networks, { from, token }: Pick<TokenSend, 'from' | 'token'>): number {
  const known = networks.get(from.chain)?.tokens.find(({ address }) => getAddress(address) === getAddress(token));
  if (known !== undefined) return decimalsOf[known.asset];
  throw new ProviderError(`${token} is no token of ours on ${from.chain}.`, {
    retryable: false,
    code: 'unknown_token',
  });
}
