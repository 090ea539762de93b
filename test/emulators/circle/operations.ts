import { isDeepStrictEqual } from 'node:util';
import type { TypedDataDefinition } from 'viem';
import { encodeFunctionData, getAddress, type Hex, isAddress, parseAbi, parseEther, parseUnits } from 'viem';
import type { ChainDoor } from './chain-door.ts';
import { CircleRefusal, invalid } from './refusal.ts';
import { describeTransaction, type TransactionBook } from './transaction-book.ts';
import { listTransactions } from './transaction-list.ts';
import type { Vault } from './vault.ts';
import { describeWallet, type WalletBook } from './wallet-book.ts';

export interface Answer {
  readonly status: number;
  readonly body: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

interface Asking {
  readonly body: Body;
  readonly params: Readonly<Record<string, string>>;
  readonly query: URLSearchParams;
}

export interface Operation {
  readonly method: string;
  /** With `{name}` where the address varies, as in Circle's description. */
  readonly path: string;
  run(request: Asking): Promise<Answer>;
}

// biome-ignore lint/suspicious/noExplicitAny: each operation checks what it reads
type Body = Record<string, any>;

export interface OperationParts {
  readonly vault: Vault;
  readonly wallets: WalletBook;
  readonly transactions: TransactionBook;
  readonly chain: ChainDoor;
  readonly notificationKeys: ReadonlyMap<string, string>;
  readonly repeats: Repeats;
}

/** What becomes of a request whose key was used before. */
export interface Repeats {
  /** Circle answers with the first result. While this is set it refuses instead, as nobody has promised that it cannot. */
  refuseWith?: { readonly status: number; readonly code: number } | undefined;
  /** Every key is new to it, as it may be after a while: Circle does not say for how long it knows one. */
  areForgotten?: true;
}

const erc20 = parseAbi(['function transfer(address to, uint256 value) returns (bool)']);
const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

export function createOperations(parts: OperationParts): readonly Operation[] {
  const { vault, wallets, transactions, chain, notificationKeys, repeats } = parts;
  const once = createOnce(repeats);

  /** A request that changes something: sealed secret, and the same answer to the same key. */
  const mutation = (
    path: string,
    work: (body: Body, params: Readonly<Record<string, string>>) => Promise<unknown>,
  ) => ({
    method: 'POST',
    path,
    async run({ body, params }: Asking) {
      vault.open(body['entitySecretCiphertext']);
      return once({ path, params, body }, () => work(body, params));
    },
  });

  return [
    {
      method: 'GET',
      path: '/v1/w3s/config/entity/publicKey',
      run: async () => ({ status: 200, body: { data: { publicKey: vault.publicKeyPem } } }),
    },
    mutation('/v1/w3s/developer/walletSets', async () => {
      const { id, createDate } = wallets.createSet();
      return { walletSet: { id, custodyType: 'DEVELOPER', createDate, updateDate: createDate } };
    }),
    mutation('/v1/w3s/developer/wallets', async ({ walletSetId, blockchains, count, accountType }) => {
      if (accountType !== 'EOA') throw invalid('this emulator only knows EOA wallets');
      if (!(count >= 1 && count <= 200)) throw invalid('count');
      return { wallets: wallets.create({ walletSetId, blockchains, count }).map(describeWallet) };
    }),
    {
      method: 'PUT',
      path: '/v1/w3s/developer/wallets/{id}/blockchains/{blockchain}',
      async run({ params }) {
        const { wallet, existing } = wallets.derive(params['id'] ?? '', params['blockchain'] ?? '');
        return { status: existing ? 200 : 201, body: { data: { wallet: describeWallet(wallet) } } };
      },
    },
    {
      method: 'POST',
      path: '/v1/w3s/developer/sign/typedData',
      async run({ body }) {
        vault.open(body['entitySecretCiphertext']);
        const { account } = wallets.get(body['walletId']);
        const typedData = JSON.parse(body['data']) as TypedDataDefinition;
        if (typedData.types['EIP712Domain'] === undefined) throw new CircleRefusal(400, 156026, 'Invalid typed data.');
        const signature = await account.signTypedData(typedData);
        return { status: 200, body: { data: { signature } } };
      },
    },
    mutation('/v1/w3s/developer/transactions/transfer', async (body) => {
      const wallet = wallets.get(body['walletId']);
      const { tokenAddress, destinationAddress, amounts, feeLevel, refId } = body;
      if (body['tokenId'] === undefined && body['blockchain'] === undefined) throw invalid('blockchain');
      if (body['blockchain'] !== wallet.blockchain) {
        throw new CircleRefusal(400, 155225, "Wallet and request's blockchain mismatch.");
      }
      if (!isAddress(destinationAddress, { strict: false })) {
        throw new CircleRefusal(400, 155219, 'Invalid destination address.');
      }
      const to = getAddress(destinationAddress);
      const described = { operation: 'TRANSFER', amounts, destinationAddress, feeLevel, refId };
      if (tokenAddress === '') {
        const payload = { to, data: '0x' as Hex, value: readAmount(amounts?.[0], 18) };
        await chain.check(wallet, payload);
        return started(transactions.add(wallet, payload, described));
      }
      const token = getAddress(tokenAddress);
      const atomic = readAmount(amounts?.[0], await chain.decimalsOf(wallet.blockchain, token));
      const data = encodeFunctionData({ abi: erc20, functionName: 'transfer', args: [to, atomic] });
      const payload = { to: token, data, value: 0n };
      await chain.check(wallet, payload, { address: token, atomic });
      return started(transactions.add(wallet, payload, described));
    }),
    mutation('/v1/w3s/developer/transactions/contractExecution', async (body) => {
      const wallet = wallets.get(body['walletId']);
      const { contractAddress, callData, amount, feeLevel, refId } = body;
      if (!/^0x(?:[0-9a-f]{2})+$/i.test(callData)) throw invalid('callData');
      const payload = {
        to: getAddress(contractAddress),
        data: callData as Hex,
        value: amount === undefined ? 0n : readAmount(amount, 18),
      };
      await chain.check(wallet, payload);
      const described = { operation: 'CONTRACT_EXECUTION', contractAddress, feeLevel, refId };
      return started(transactions.add(wallet, payload, described));
    }),
    mutation('/v1/w3s/developer/transactions/{id}/accelerate', async (_body, { id = '' }) => {
      transactions.accelerate(id);
      return { id };
    }),
    {
      method: 'GET',
      path: '/v1/w3s/transactions',
      async run({ query }) {
        const { page, link } = listTransactions(transactions, query);
        return {
          status: 200,
          body: { data: { transactions: page.map(describeTransaction) } },
          headers: { link },
        };
      },
    },
    {
      method: 'GET',
      path: '/v1/w3s/transactions/{id}',
      run: async ({ params }) => ({
        status: 200,
        body: { data: { transaction: describeTransaction(transactions.get(params['id'] ?? '')) } },
      }),
    },
    {
      method: 'GET',
      path: '/v2/notifications/publicKey/{id}',
      async run({ params }) {
        const id = params['id'] ?? '';
        const publicKey = notificationKeys.get(id);
        if (publicKey === undefined) throw new CircleRefusal(400, 2, 'API parameter invalid');
        const createDate = '2026-01-01T00:00:00Z';
        return { status: 200, body: { data: { id, algorithm: 'ECDSA_SHA_256', publicKey, createDate } } };
      },
    },
  ];
}

function started({ id, state }: { id: string; state: string }) {
  return { id, state };
}

function readAmount(text: unknown, decimals: number): bigint {
  const match = typeof text === 'string' ? /^\d+(?:\.(\d+))?$/.exec(text) : null;
  if (match === null || (match[1]?.length ?? 0) > decimals) {
    throw new CircleRefusal(400, 155224, 'Failed to parse the provided amounts in request to decimals.');
  }
  return decimals === 18 ? parseEther(text as string) : parseUnits(text as string, decimals);
}

interface Repeatable {
  readonly path: string;
  readonly params: Readonly<Record<string, string>>;
  readonly body: Body;
}

/** The first success of a key is answered again; refusals are not kept. Who comes at the same time waits for the first. */
function createOnce(repeats: Repeats): (request: Repeatable, work: () => Promise<unknown>) => Promise<Answer> {
  const kept = new Map<string, { request: unknown; data: Promise<unknown> }>();
  return async ({ path, params, body }, work) => {
    const { entitySecretCiphertext: _, idempotencyKey, ...rest } = body;
    if (!uuid.test(idempotencyKey)) throw invalid('idempotencyKey');
    const request = { path, params, rest };
    const earlier = repeats.areForgotten === true ? undefined : kept.get(idempotencyKey);
    if (earlier !== undefined) {
      if (repeats.refuseWith !== undefined) {
        throw new CircleRefusal(repeats.refuseWith.status, repeats.refuseWith.code, 'Refused this time.');
      }
      if (!isDeepStrictEqual(earlier.request, request)) throw invalid('idempotencyKey was used for another request');
      return { status: 200, body: { data: await earlier.data } };
    }
    const data = work();
    kept.set(idempotencyKey, { request, data });
    try {
      return { status: path.endsWith('/accelerate') ? 200 : 201, body: { data: await data } };
    } catch (error) {
      kept.delete(idempotencyKey);
      throw error;
    }
  };
}
