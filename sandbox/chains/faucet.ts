import { setTimeout as sleep } from 'node:timers/promises';
import { encodeFunctionData, getAddress, type Hex, pad, parseAbi, toHex } from 'viem';
import { multicallAddress, tokenAbi } from '../../src/chains/abi.ts';
import { findReceipt } from '../../src/chains/find-receipt.ts';
import { createNetworks, type Network, type NetworkSettings } from '../../src/chains/network.ts';
import { wrappedCoin } from '../../src/chains/wrapped-coin.ts';
import type { Database } from '../../src/kernel/db/database.ts';
import { type ChainId, chains, homeChain } from '../../src/money/catalogue.ts';
import { mintAccount } from '../accounts.ts';
import { createMintBook, type Mint, type MintBook, type MintCall, type SignedMint } from './mint-book.ts';
import { bridgedTokens, faucetAssets, mintedTokens, wrappedHomeCoin } from './tokens.ts';

export type Faucet = ReturnType<typeof createFaucet>;

/** Why a mint failed: unknown asset on this chain, id used for another mint, rejected by the contract, or not mined yet. */
type FaucetFault = 'unknown_asset' | 'other_mint' | 'refused' | 'not_mined';

export class FaucetError extends Error {
  override readonly name = 'FaucetError';
  readonly fault: FaucetFault;

  constructor(fault: FaucetFault, message: string) {
    super(message);
    this.fault = fault;
  }
}

const mintAbi = parseAbi(['function mint(address to, uint256 amount) returns (bool)']);
const depositAbi = parseAbi(['function deposit(address user, bytes depositData)']);
const wrapAbi = parseAbi(['function deposit() payable']);
const multicallValueAbi = parseAbi([
  'struct Call3Value { address target; bool allowFailure; uint256 value; bytes callData; }',
  'function aggregate3Value(Call3Value[] calls) payable',
]);
const minedWithinMs = 30_000;

/** Mints play money. */
export function createFaucet(db: Database, settings: ReadonlyMap<ChainId, NetworkSettings>) {
  const networks = createNetworks(settings);
  const network = (chain: ChainId) => {
    const found = networks.get(chain);
    if (found === undefined) throw new Error(`${chain} is not running`);
    return found;
  };
  const book = createMintBook(db, (chain) => minedNonce(network(chain)));
  return {
    /** The mint that was requested under this id. */
    find: (id: string): Promise<Mint | undefined> => book.find(id),
    /** Resolves with the transaction hash once it is mined. */
    async mint(mint: Mint): Promise<Hex> {
      const signed = await book.write(mint, callFor(mint));
      if (!isSame(mint, signed)) throw new FaucetError('other_mint', 'this id belongs to another mint');
      const { client } = network(mint.chain);
      await broadcast(client, signed.raw);
      await waitUntilMined(book, network(mint.chain), signed);
      return signed.hash;
    },
  };
}

function callFor({ chain, asset, to, atomic }: Mint): MintCall {
  const address = getAddress(to);
  if (asset === chains[chain].native) return { to: address, value: atomic };
  const minted = mintedTokens[chain].find((token) => token.asset === asset);
  if (minted !== undefined) {
    return { to: minted.address, data: encodeFunctionData({ abi: mintAbi, args: [address, atomic] }) };
  }
  const bridged = bridgedTokens(chain).find((token) => token.asset === asset);
  if (bridged !== undefined) {
    return { to: bridged.address, data: encodeFunctionData({ abi: depositAbi, args: [address, pad(toHex(atomic))] }) };
  }
  if (chain === homeChain && asset === wrappedHomeCoin) return wrapFor(address, atomic);
  throw new FaucetError('unknown_asset', `there is no ${asset} on ${chain}, only ${faucetAssets(chain).join(', ')}`);
}

/** Wraps and transfers in one transaction, because a mint is one transaction. */
function wrapFor(address: Hex, atomic: bigint): MintCall {
  const target = wrappedCoin;
  const transfer = encodeFunctionData({ abi: tokenAbi, functionName: 'transfer', args: [address, atomic] });
  return {
    to: multicallAddress,
    value: atomic,
    data: encodeFunctionData({
      abi: multicallValueAbi,
      args: [
        [
          { target, allowFailure: false, value: atomic, callData: encodeFunctionData({ abi: wrapAbi }) },
          { target, allowFailure: false, value: 0n, callData: transfer },
        ],
      ],
    }),
  };
}

function isSame(asked: Mint, signed: SignedMint): boolean {
  return (
    asked.chain === signed.chain &&
    asked.asset === signed.asset &&
    asked.atomic === signed.atomic &&
    getAddress(asked.to) === signed.to
  );
}

function minedNonce({ client }: Network): Promise<number> {
  return client.getTransactionCount({ address: mintAccount.address });
}

/** "Already known" counts as success. */
async function broadcast(client: Network['client'], raw: Hex): Promise<void> {
  await client.sendRawTransaction({ serializedTransaction: raw }).catch((error: Error) => {
    if (!/already known|nonce too low/i.test(error.message)) throw error;
  });
}

async function waitUntilMined(book: MintBook, network: Network, { hash }: SignedMint): Promise<void> {
  const { client, id } = network;
  const deadline = Date.now() + minedWithinMs;
  for (let waitMs = 5; ; waitMs = Math.min(waitMs * 2, 500)) {
    const receipt = await findReceipt(client, hash);
    if (receipt?.status === 'reverted') throw new FaucetError('refused', 'the contract refused it');
    if (receipt !== undefined) return;
    if (Date.now() > deadline) throw new FaucetError('not_mined', 'it was sent, and is not mined yet');
    await sleep(waitMs);
    if (waitMs < 100) continue;
    // A transaction that never reached the chain, or was undone by a reorg, blocks all later nonces.
    for (const raw of await book.listFrom(id, await minedNonce(network))) await broadcast(client, raw);
  }
}
