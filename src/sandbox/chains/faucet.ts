import { setTimeout as sleep } from 'node:timers/promises';
import { encodeFunctionData, getAddress, type Hex, keccak256, parseAbi, TransactionReceiptNotFoundError } from 'viem';
import { type ChainId, chains } from '../../chains/chains.ts';
import { createNetworks, type Network, type NetworkSettings } from '../../chains/network.ts';
import type { Database, Transaction } from '../../db/database.ts';
import type { Asset } from '../../money/asset.ts';
import { mintAccount } from './mint-account.ts';
import { faucetAssets, mintedToken } from './tokens.ts';

export interface Mint {
  /** The same id is the same mint: it happens once, however often it is asked for. */
  readonly id: string;
  readonly chain: ChainId;
  readonly asset: Asset;
  readonly to: Hex;
  readonly atomic: bigint;
}

/** Makes money out of nothing. */
export interface Faucet {
  /** Answers with the transaction's hash once it is mined. */
  mint(mint: Mint): Promise<Hex>;
}

/** The chain did not do it, and will not. */
export class FaucetError extends Error {
  override readonly name = 'FaucetError';
}

const mintAbi = parseAbi(['function mint(address to, uint256 amount) returns (bool)']);
const gasLimit = 300_000n;
const maxFeePerGas = 1_000_000_000_000n;
const maxPriorityFeePerGas = 1_000_000_000n;
const minedWithinMs = 30_000;

interface MintRow {
  readonly hash: Hex;
  readonly raw: Hex;
  readonly nonce: bigint;
  readonly same: boolean;
}

export function createFaucet(db: Database, settings: ReadonlyMap<ChainId, NetworkSettings>): Faucet {
  const networks = createNetworks(settings);
  return {
    async mint(mint) {
      const network = networks.get(mint.chain);
      if (network === undefined) throw new FaucetError(`${mint.chain} is not running`);
      const row = await writeDown(db, network, mint);
      if (!row.same) throw new FaucetError('this id belongs to another mint');
      await broadcast(network, row.raw);
      await waitUntilMined(db, network, row);
      return row.hash;
    },
  };
}

/** Signed and in the database before anybody sends it, under a lock that gives each nonce once. */
async function writeDown(db: Database, network: Network, mint: Mint): Promise<MintRow> {
  return (await findMint(db, mint)) ?? db.transaction((tx) => signAndStore(tx, network, mint));
}

async function findMint(
  db: Pick<Database, 'query'>,
  { id, chain, asset, to, atomic }: Mint,
): Promise<MintRow | undefined> {
  const { rows } = await db.query<MintRow>(
    `SELECT hash, raw, nonce, chain = $2 AND asset = $3 AND recipient = $4 AND atomic = $5 AS same
     FROM sandbox.mints WHERE id = $1`,
    [id, chain, asset, getAddress(to), atomic],
  );
  return rows[0];
}

async function signAndStore(tx: Transaction, network: Network, mint: Mint): Promise<MintRow> {
  const { id, chain, asset, to, atomic } = mint;
  await tx.query('SELECT pg_advisory_xact_lock(hashtextextended($1, 0))', [`faucet ${chain}`]);
  const earlier = await findMint(tx, mint);
  if (earlier !== undefined) return earlier;
  const nonce = await nextNonce(tx, network);
  const raw = await mintAccount.signTransaction({
    type: 'eip1559',
    chainId: chains[chain].chainId,
    nonce: Number(nonce),
    gas: gasLimit,
    maxFeePerGas,
    maxPriorityFeePerGas,
    ...whatToSend(mint),
  });
  const hash = keccak256(raw);
  await tx.query(
    'INSERT INTO sandbox.mints (id, chain, asset, recipient, atomic, nonce, raw, hash) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)',
    [id, chain, asset, getAddress(to), atomic, nonce, raw, hash],
  );
  return { hash, raw, nonce, same: true };
}

function whatToSend({ chain, asset, to, atomic }: Mint): { to: Hex; value?: bigint; data?: Hex } {
  if (asset === chains[chain].native) return { to, value: atomic };
  const token = mintedToken(chain, asset);
  if (token === undefined) {
    throw new FaucetError(`there is no ${asset} on ${chain}, only ${faucetAssets(chain).join(', ')}`);
  }
  return { to: token.address, data: encodeFunctionData({ abi: mintAbi, args: [to, atomic] }) };
}

/** The account sends other transactions too, when contracts are placed. */
async function nextNonce(tx: Transaction, { id, client }: Network): Promise<bigint> {
  const { rows } = await tx.query<{ nonce: bigint | null }>(
    'SELECT max(nonce) AS nonce FROM sandbox.mints WHERE chain = $1',
    [id],
  );
  const onChain = BigInt(await client.getTransactionCount({ address: mintAccount.address }));
  const stored = rows[0]?.nonce ?? -1n;
  return stored + 1n > onChain ? stored + 1n : onChain;
}

/** What the chain has already is not sent again, which is as good. */
async function broadcast({ client }: Network, raw: Hex): Promise<void> {
  await client.sendRawTransaction({ serializedTransaction: raw }).catch((error: Error) => {
    if (!/already known|nonce too low/i.test(error.message)) throw error;
  });
}

async function waitUntilMined(db: Database, network: Network, { hash }: MintRow): Promise<void> {
  const deadline = Date.now() + minedWithinMs;
  for (let waitMs = 5; Date.now() < deadline; waitMs = Math.min(waitMs * 2, 500)) {
    const receipt = await network.client.getTransactionReceipt({ hash }).catch((error: unknown) => {
      if (error instanceof TransactionReceiptNotFoundError) return undefined;
      throw error;
    });
    if (receipt?.status === 'reverted') throw new FaucetError('the token contract refused it');
    if (receipt !== undefined) return;
    await sleep(waitMs);
    if (waitMs > 100) await broadcastFrom(db, network);
  }
  throw new FaucetError('it was sent but not mined in time');
}

/** An earlier one that never reached the chain, or that a reorganisation undid, holds up all that follow. */
async function broadcastFrom(db: Database, network: Network): Promise<void> {
  const from = await network.client.getTransactionCount({ address: mintAccount.address });
  const { rows } = await db.query<{ raw: Hex }>(
    'SELECT raw FROM sandbox.mints WHERE chain = $1 AND nonce >= $2 ORDER BY nonce LIMIT 100',
    [network.id, from],
  );
  for (const { raw } of rows) await broadcast(network, raw);
}
