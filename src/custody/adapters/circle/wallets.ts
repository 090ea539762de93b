import { randomUUID } from 'node:crypto';
import { getAddress } from 'viem';
import { z } from 'zod';
import { type Database, onlyRow } from '../../../kernel/db/database.ts';
import { type ChainId, homeChain } from '../../../money/catalogue.ts';
import type { WalletMaker } from '../../wallets/pool.ts';
import { ProviderError } from '../../wallets/provider.ts';
import { walletAnswer } from './answers.ts';
import type { CircleClient } from './circle-client.ts';
import { requestKey } from './circle-request.ts';

type CircleWallets = Pick<WalletMaker, 'createWallets' | 'createWallet' | 'extendWallet'>;

/** A request older than this was abandoned. */
const abandonedAfterSeconds = 120;

const walletSetAnswer = z.object({ walletSet: z.object({ id: z.guid() }) });
const derivedAnswer = z.object({ wallet: walletAnswer });
const walletsAnswer = z.object({ wallets: z.array(walletAnswer) });

export function createCircleWallets(db: Database, circle: CircleClient): CircleWallets {
  let walletSet: string | undefined;

  const wallets: CircleWallets = {
    /**
     * Every wallet starts on the home chain. Circle numbers a set's wallets per chain and derives the address from the
     * number: a wallet created on another chain would have the address of someone else's wallet here.
     */
    async createWallets({ chain, count, idempotencyKey }) {
      walletSet ??= await openWalletSet(db, circle);
      const walletSetId = walletSet;
      const answer = await circle.write(walletsAnswer, (sdk) =>
        sdk.createWallets({
          walletSetId,
          blockchains: [homeChain],
          count,
          accountType: 'EOA',
          idempotencyKey: requestKey(idempotencyKey),
        }),
      );
      const made = answer.wallets.map(({ id, address }) => ({ ref: id, address }));
      return chain === homeChain ? made : Promise.all(made.map((wallet) => wallets.extendWallet(wallet, chain)));
    },

    async createWallet({ chain, idempotencyKey }) {
      const key = idempotencyKey ?? (await writeDownRequest(db, chain));
      const [wallet] = await wallets.createWallets({ chain, count: 1, idempotencyKey: key });
      if (wallet === undefined) throw trouble('Circle created no wallet.');
      // Only one caller gets the wallet, even if a slow caller was taken for abandoned.
      if (idempotencyKey === undefined && !(await markAnswered(db, key))) {
        throw trouble('Another request took the wallet.');
      }
      return wallet;
    },

    async extendWallet({ ref, address }, chain) {
      const { wallet: derived } = await circle.write(derivedAnswer, (sdk) =>
        sdk.deriveWallet({ id: ref, blockchain: chain }),
      );
      if (derived.address !== getAddress(address)) {
        throw new ProviderError(`Circle derived ${derived.address} from the wallet ${address}.`, {
          retryable: false,
          code: 'address_mismatch',
        });
      }
      return { ref: derived.id, address: derived.address };
    },
  };
  return wallets;
}

function trouble(message: string): ProviderError {
  return new ProviderError(message, { retryable: true, code: 'provider_trouble' });
}

/** The set is created once; the shared key makes concurrent callers get the same one. */
async function openWalletSet(db: Database, circle: CircleClient): Promise<string> {
  await db.query('INSERT INTO circle_wallet_set (idempotency_key) VALUES ($1) ON CONFLICT DO NOTHING', [randomUUID()]);
  const row = onlyRow(
    await db.query<{ idempotencyKey: string; walletSetId: string | null }>(
      'SELECT idempotency_key, wallet_set_id FROM circle_wallet_set',
    ),
  );
  if (row.walletSetId !== null) return row.walletSetId;
  const { walletSet } = await circle.write(walletSetAnswer, (sdk) =>
    sdk.createWalletSet({ name: 'Paywright', idempotencyKey: row.idempotencyKey }),
  );
  const { id } = walletSet;
  await db.query('UPDATE circle_wallet_set SET wallet_set_id = $1', [id]);
  return id;
}

/** An abandoned request is resumed, so that no wallet at Circle is left without an owner. */
async function writeDownRequest(db: Database, chain: ChainId): Promise<string> {
  const { rows } = await db.query<{ idempotencyKey: string }>(
    `UPDATE circle_wallet_requests SET asked_at = now()
      WHERE idempotency_key = (
        SELECT idempotency_key FROM circle_wallet_requests
         WHERE chain = $1 AND answered_at IS NULL AND asked_at < now() - make_interval(secs => $2)
         ORDER BY asked_at LIMIT 1 FOR UPDATE SKIP LOCKED)
      RETURNING idempotency_key`,
    [chain, abandonedAfterSeconds],
  );
  if (rows[0] !== undefined) return rows[0].idempotencyKey;
  const key = randomUUID();
  await db.query('INSERT INTO circle_wallet_requests (idempotency_key, chain) VALUES ($1, $2)', [key, chain]);
  return key;
}

async function markAnswered(db: Database, key: string): Promise<boolean> {
  const { rowCount } = await db.query(
    'UPDATE circle_wallet_requests SET answered_at = now() WHERE idempotency_key = $1 AND answered_at IS NULL',
    [key],
  );
  return rowCount === 1;
}
