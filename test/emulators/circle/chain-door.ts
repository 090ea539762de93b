import { BaseError, type Hex, keccak256, type PublicClient, parseAbi, toHex } from 'viem';
import type { Networks } from '../../../src/chains/network.ts';
import type { ChainId } from '../../../src/money/catalogue.ts';
import { CircleRefusal } from './refusal.ts';
import type { EmulatedWallet } from './wallet-book.ts';

export interface Payload {
  readonly to: Hex;
  readonly data: Hex;
  readonly value: bigint;
}

interface Mined {
  readonly succeeded: boolean;
  readonly blockHeight: number;
  readonly blockHash: Hex;
  /** In wei. */
  readonly networkFee: bigint;
}

/** The emulator's way to the chains. Without any it pretends: hashes and blocks are made up, and every wallet is rich. */
export interface ChainDoor {
  decimalsOf(blockchain: string, token: Hex): Promise<number>;
  /** Refuses as Circle does what the chain would refuse. */
  check(wallet: EmulatedWallet, payload: Payload, token?: { address: Hex; atomic: bigint }): Promise<void>;
  send(wallet: EmulatedWallet, payload: Payload): Promise<Hex>;
  find(blockchain: string, hash: Hex): Promise<Mined | undefined>;
}

const erc20 = parseAbi([
  'function decimals() view returns (uint8)',
  'function balanceOf(address) view returns (uint256)',
]);

export function createChainDoor(networks: () => Networks): ChainDoor {
  const senders = new Map<string, Promise<unknown>>();

  function clientOf(blockchain: string): PublicClient {
    const network = networks().get(blockchain as ChainId);
    if (network === undefined) throw new CircleRefusal(400, 156027, 'The specified blockchain is not supported.');
    return network.client;
  }

  /** Nonces are counted one after the other. */
  function inTurn<Result>(wallet: EmulatedWallet, work: () => Promise<Result>): Promise<Result> {
    const key = `${wallet.blockchain} ${wallet.account.address}`;
    const turn = (senders.get(key) ?? Promise.resolve()).then(work, work);
    senders.set(key, turn);
    return turn;
  }

  return {
    decimalsOf: (blockchain, token) =>
      clientOf(blockchain)
        .readContract({ abi: erc20, address: token, functionName: 'decimals' })
        .catch(() => {
          throw new CircleRefusal(400, 155239, 'Invalid token address for transfer.');
        }),

    async check({ blockchain, account }, { to, data, value }, token) {
      const client = clientOf(blockchain);
      if (token !== undefined) {
        const owned = await client.readContract({
          abi: erc20,
          address: token.address,
          functionName: 'balanceOf',
          args: [account.address],
        });
        if (owned < token.atomic) {
          throw new CircleRefusal(400, 155258, 'The asset amount owned by the wallet is insufficient.');
        }
      }
      const [gas, fees, coins] = await Promise.all([
        client.estimateGas({ account: account.address, to, data, value }).catch((error: unknown) => {
          const text = error instanceof BaseError ? error.details : String(error);
          if (/funds/i.test(text)) throw new CircleRefusal(400, 155204, 'The total cost is higher than the balance.');
          throw new CircleRefusal(400, 155208, 'Estimate fee execution reverted.');
        }),
        client.estimateFeesPerGas(),
        client.getBalance({ address: account.address }),
      ]);
      if (coins < value) throw new CircleRefusal(400, 155201, 'Not enough funds to fulfill the withdraw request.');
      if (coins < value + gas * fees.maxFeePerGas) {
        throw new CircleRefusal(400, 155204, 'The total cost is higher than the balance.');
      }
    },

    send: (wallet, { to, data, value }) =>
      inTurn(wallet, async () => {
        const { account, blockchain } = wallet;
        const client = clientOf(blockchain);
        const [nonce, fees, chainId, gas] = await Promise.all([
          client.getTransactionCount({ address: account.address, blockTag: 'pending' }),
          client.estimateFeesPerGas(),
          client.getChainId(),
          client.estimateGas({ account: account.address, to, data, value }).catch(() => 200_000n),
        ]);
        const { maxFeePerGas, maxPriorityFeePerGas } = fees;
        const raw = await account.signTransaction({
          type: 'eip1559',
          chainId,
          nonce,
          to,
          data,
          value,
          gas: (gas * 3n) / 2n,
          maxFeePerGas: maxFeePerGas * 2n,
          maxPriorityFeePerGas,
        });
        return client.sendRawTransaction({ serializedTransaction: raw });
      }),

    async find(blockchain, hash) {
      const receipt = await clientOf(blockchain)
        .getTransactionReceipt({ hash })
        .catch(() => undefined);
      return (
        receipt && {
          succeeded: receipt.status === 'success',
          blockHeight: Number(receipt.blockNumber),
          blockHash: receipt.blockHash,
          networkFee: receipt.gasUsed * receipt.effectiveGasPrice,
        }
      );
    },
  };
}

export function createPretendedChains(): ChainDoor {
  let height = 1_000;
  return {
    decimalsOf: async () => 6,
    check: async () => {},
    send: async (_wallet, payload) => keccak256(toHex(`${payload.to}${payload.data}${height++}`)),
    find: async (_blockchain, hash) => ({
      succeeded: true,
      blockHeight: height++,
      blockHash: keccak256(hash),
      networkFee: 21_000n * 30_000_000_017n,
    }),
  };
}
