import { setTimeout as sleep } from 'node:timers/promises';
import { startLocalChains } from '../sandbox/chains/local-chains.ts';
import { createNetworks } from '../src/chains/network.ts';
import { createKeysProvider } from '../src/custody/adapters/keys/keys-provider.ts';
import { withLedgerCopy } from '../src/custody/reserves/read-claims.ts';
import { reportReserves } from '../src/custody/reserves/report.ts';
import { chooseWallets } from '../src/custody/sweeps/open-sweep.ts';
import { openHouseWallets } from '../src/custody/wallets/house-wallets.ts';
import { type Database, openDatabase } from '../src/kernel/db/database.ts';
import { createLogger } from '../src/kernel/log/logger.ts';
import { createSecrets } from '../src/kernel/secrets/secrets.ts';
import { createLedger } from '../src/ledger/ledger.ts';
import { startWatchers } from '../src/payments/deposits/watch-chains.ts';
import { middle } from './measure.ts';
import { benchSecret, createPeople } from './people.ts';

export interface ReserveFigures {
  /** Milliseconds that a snapshot's transaction lives, and that its balances are read for, with so many accounts. */
  readonly snapshot: { readonly accounts: number; readonly transactionMs: number; readonly readMs: number };
  /** Seconds of a report, with so many wallets that hold dust. */
  readonly report: { readonly wallets: number; readonly seconds: number };
  /** Milliseconds to choose the wallets of a sweep, and to count again what was deposited to a thousand of them. */
  readonly choose: { readonly wallets: number; readonly ms: number; readonly afterThousandMs: number };
}

const quiet = createLogger('silent');

export async function measureReserves(
  createDatabase: (name: string) => Promise<string>,
  say: (line: string) => void,
): Promise<ReserveFigures> {
  const db = openDatabase({ url: await createDatabase('reserves'), poolSize: 10, logger: quiet });
  try {
    say('Taking snapshots …');
    const people = await createPeople(db, 100_000);
    const snapshot = await measureSnapshot(db, people.length);
    say('Asking for dust …');
    await addDust(db, { from: 1, to: 20_000, payee: people[0]?.id ?? 1n });
    const report = { wallets: 20_000, seconds: await measureReport(db) };
    say('Choosing wallets to sweep …');
    await addDust(db, { from: 20_001, to: 100_000, payee: people[0]?.id ?? 1n });
    return { snapshot, report, choose: { wallets: 100_000, ...(await measureChoice(db)) } };
  } finally {
    await db.close();
  }
}

async function time(work: () => Promise<unknown>): Promise<number> {
  const begun = performance.now();
  await work();
  return performance.now() - begun;
}

async function measureSnapshot(db: Database, accounts: number) {
  const copies: number[] = [];
  const reads: number[] = [];
  for (let run = 0; run < 5; run++) {
    const begun = performance.now();
    let copied = begun;
    await withLedgerCopy(db, async ({ balances }) => {
      copied = performance.now();
      for await (const rows of balances()) void rows.length;
    });
    copies.push(copied - begun);
    reads.push(performance.now() - copied);
  }
  return { accounts, transactionMs: middle(copies), readMs: middle(reads) };
}

/** Deposits too small to be swept, each to a wallet of its own. The chain knows nothing of them: asking costs the same. */
async function addDust(db: Database, { from, to, payee }: { from: number; to: number; payee: bigint }): Promise<void> {
  await db.query(
    `INSERT INTO deposits (id, chain, tx_hash, position, block_number, account_id, address, sender, asset, atomic, transfer_id)
     SELECT 'dep_' || i, 'MATIC', '0x' || i, 0, 1, $3, '0x' || lpad(to_hex(i), 40, '0'), '0x', 'USDC', 1 + i % 900000, '-'
       FROM generate_series($1::int, $2::int) i`,
    [from, to, payee],
  );
  await db.query('ANALYZE deposits');
}

async function measureReport(db: Database): Promise<number> {
  const local = await startLocalChains({ db, logger: quiet });
  const networks = createNetworks(new Map([...local.settings].filter(([id]) => id === 'MATIC')));
  const ledger = createLedger({ db, logger: quiet });
  try {
    const provider = await createKeysProvider({ db, secrets: createSecrets(benchSecret), networks, logger: quiet });
    await openHouseWallets(db, provider, networks);
    const watchers = startWatchers({ db, ledger, networks, logger: quiet });
    while ((await db.query('SELECT FROM chain_cursors')).rowCount === 0) await sleep(20);
    await watchers.stop();
    const seconds: number[] = [];
    for (let run = 0; run < 3; run++) {
      const tookMs = await time(async () => {
        const { reserves } = await reportReserves({ db, networks, logger: quiet, chainTimeoutMs: 120_000 });
        if (reserves.some(({ unavailable }) => unavailable !== undefined)) throw new Error('the chain did not answer');
      });
      seconds.push(tookMs / 1_000);
    }
    return middle(seconds);
  } finally {
    await ledger.stop();
    await local.stop();
  }
}

async function measureChoice(db: Database): Promise<{ ms: number; afterThousandMs: number }> {
  const choose = () =>
    chooseWallets(db, { id: 'MATIC' }, { asset: 'USDC' }, { threshold: 1n, mostWallets: 50, except: [] });
  const first = await choose();
  if (first.length !== 50) throw new Error(`only ${first.length} wallets were chosen`);
  await db.query('ANALYZE unswept_wallets');
  const quickly: number[] = [];
  const after: number[] = [];
  for (let run = 0; run < 9; run++) {
    quickly.push(await time(choose));
    await db.query(
      "UPDATE deposits SET block_number = block_number + 1 WHERE id IN (SELECT 'dep_' || i FROM generate_series(1, 1000) i)",
    );
    after.push(await time(choose));
  }
  return { ms: middle(quickly), afterThousandMs: middle(after) };
}
