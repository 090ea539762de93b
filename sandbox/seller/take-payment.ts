import { createWalletClient, type Hex, http, isAddressEqual, parseSignature, recoverTypedDataAddress } from 'viem';
import { tokenAbi } from '../../src/chains/abi.ts';
import { readTokenDomain, type SignedAuthorization, toTypedData } from '../../src/chains/authorization.ts';
import type { Network, Token } from '../../src/chains/network.ts';
import { decodeHeader, headerNames } from '../../src/x402/wire/header.ts';
import {
  exactPayload,
  networkName,
  payment1,
  payment2,
  type Receipt,
  toAuthorization,
} from '../../src/x402/wire/messages.ts';
import { sellerAccount } from '../accounts.ts';
import type { Faucet } from '../chains/faucet.ts';

export interface TakingParts {
  readonly network: Network;
  readonly token: Token;
  readonly rpcUrl: string;
  readonly faucet: Faucet;
}

type Headers = Readonly<Record<string, string | string[] | undefined>>;

/** Submits the payment of a request, or says why not. Undefined if the request has none. */
export function createTaking(parts: TakingParts) {
  const { network, token } = parts;
  const submit = createSubmitting(parts);

  return async (headers: Headers, price: bigint) => {
    const brought = readPayment(headers);
    if (brought === undefined) return undefined;
    const { version, payload } = brought;
    const of = (told: Partial<Receipt>) => {
      const receipt: Receipt = { success: false, transaction: '', network: networkName(network.id, version), ...told };
      return { version, receipt };
    };
    const read = exactPayload.safeParse(payload);
    if (!read.success) return of({ errorReason: 'invalid_payload' });
    const authorization = toAuthorization(read.data);
    const payer = authorization.from;
    const domain = await readTokenDomain(network, token.address);
    const { signature } = authorization;
    const signer = await recoverTypedDataAddress({ ...toTypedData(domain, authorization), signature }).catch(
      () => '0x0',
    );
    if (signer.toLowerCase() !== payer.toLowerCase()) {
      return of({ errorReason: 'invalid_exact_evm_payload_signature', payer });
    }
    if (!isAddressEqual(authorization.to, sellerAccount.address)) {
      return of({ errorReason: 'invalid_exact_evm_payload_recipient_mismatch', payer });
    }
    if (authorization.atomic !== price) {
      return of({ errorReason: 'invalid_exact_evm_payload_authorization_value', payer });
    }
    const transaction = await submit(authorization).catch(() => undefined);
    if (transaction === undefined) return of({ errorReason: 'invalid_transaction_state', payer });
    return of({ success: true, transaction, payer });
  };
}

function readPayment(headers: Headers) {
  const second = decoded(headers[headerNames[2].payment]);
  if (second !== undefined) return { version: 2, payload: payment2.safeParse(second).data?.payload } as const;
  const first = decoded(headers[headerNames[1].payment]);
  if (first === undefined) return undefined;
  return { version: 1, payload: payment1.safeParse(first).data?.payload } as const;
}

function decoded(header: string | string[] | undefined): unknown {
  return typeof header === 'string' ? decodeHeader(header) : undefined;
}

/** Serializes submissions, because they share one account. The faucet funds its gas on first use. */
function createSubmitting({ network, token, rpcUrl, faucet }: TakingParts) {
  const { id: chain, client } = network;
  const wallet = createWalletClient({ account: sellerAccount, chain: client.chain, transport: http(rpcUrl) });
  let last: Promise<unknown> = Promise.resolve();

  async function submit(authorization: SignedAuthorization): Promise<Hex> {
    const { address: to } = sellerAccount;
    await faucet.mint({ id: 'gas of the seller of forecasts', chain, asset: 'MATIC', to, atomic: 10n ** 20n });
    const { from, atomic, validAfter = 0n, validBefore, nonce, signature } = authorization;
    const { r, s, yParity } = parseSignature(signature);
    const { request } = await client.simulateContract({
      account: sellerAccount,
      address: token.address,
      abi: tokenAbi,
      functionName: 'transferWithAuthorization',
      args: [from, to, atomic, validAfter, validBefore, nonce, yParity + 27, r, s],
    });
    const hash = await wallet.writeContract(request);
    const { status } = await client.waitForTransactionReceipt({ hash, pollingInterval: 50 });
    if (status !== 'success') throw new Error('the token refused it');
    return hash;
  }

  return (authorization: SignedAuthorization): Promise<Hex> => {
    const submitted = last.then(() => submit(authorization));
    last = submitted.catch(() => {});
    return submitted;
  };
}
