import type { Command } from 'commander';
import { findAccount, namesOf } from '../../accounts/find-account.ts';
import type { Database, Queryable } from '../../kernel/db/database.ts';
import { Refusal } from '../../kernel/refusal.ts';
import type { Secrets } from '../../kernel/secrets/secrets.ts';
import { parseUrl } from '../../kernel/text/parse-url.ts';
import { findClaimant, listDues } from '../../ledger/claimants.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import { toDecimalText } from '../../money/amount.ts';
import { readWebsite } from '../search/website.ts';
import { disableMerchant, enableMerchant } from './enable-merchant.ts';
import type { Merchant } from './find-merchant.ts';

interface Tools {
  withDatabase(work: (db: Database) => Promise<void>): Promise<void>;
  withMoney(work: (parts: { db: Database; ledger: Ledger; secrets: Secrets }) => Promise<void>): Promise<void>;
  say(line: string): void;
}

export function addMerchantCommands(program: Command, { withDatabase, withMoney, say }: Tools): void {
  const merchant = program
    .command('merchant')
    .description('manage the domains that take orders, and who is paid for them');

  merchant
    .command('enable <domain>')
    .description('let a domain take orders, and assign it to an account')
    .option('--account <handle>', 'the account to be paid for its orders; also receives what the domain is owed')
    .option('--orders-url <url>', 'where orders are sent if the shop does not take them over UCP')
    .action((given: string, options: { account?: string; ordersUrl?: string }) =>
      withMoney(async (parts) => {
        const domain = domainOrRefuse(given);
        const accountId = await accountOrRefuse(parts.db, options.account);
        const ordersUrl = ordersUrlOrRefuse(options.ordersUrl);
        const { redeemed, ordersSecret } = await enableMerchant(parts, { domain, accountId, ordersUrl });
        say(`${domain} takes orders now.`);
        for (const { amount } of redeemed) say(`Paid out ${text(amount)} that the domain was owed.`);
        if (ordersSecret !== undefined)
          say(`Orders are signed with this secret, which is shown only once: ${ordersSecret}`);
      }),
    );

  merchant
    .command('disable <domain>')
    .description('stop taking orders for a domain, whatever its site says')
    .action((given: string) =>
      withDatabase(async (db) => {
        const domain = domainOrRefuse(given);
        await disableMerchant(db, domain);
        say(`${domain} takes no more orders.`);
      }),
    );

  merchant
    .command('list')
    .description('list all enabled and disabled domains')
    .action(() => withDatabase((db) => list(db, say)));

  merchant
    .command('show <domain>')
    .description('show its state, its account, and what it is owed')
    .action((given: string) => withDatabase((db) => show(db, domainOrRefuse(given), say)));
}

interface MerchantRow extends Merchant {
  readonly enabledBy: string | null;
  readonly disabledBy: string | null;
  readonly provedAt: Date | null;
  readonly claims: number;
}

const select = `SELECT m.*, (SELECT count(*)::integer FROM merchant_claims c WHERE c.domain = m.domain) AS claims
  FROM merchants m`;

/** Bounds memory however many domains there are. */
const domainsAtOnce = 500;

async function list(db: Queryable, say: Tools['say']): Promise<void> {
  let after = '';
  for (;;) {
    const { rows } = await db.query<MerchantRow>(`${select} WHERE m.domain > $1 ORDER BY m.domain LIMIT $2`, [
      after,
      domainsAtOnce,
    ]);
    const names = await namesOf(
      db,
      rows.map(({ accountId }) => accountId),
    );
    for (const { domain, state, accountId } of rows) {
      const handle = accountId === null ? '-' : (names.get(accountId)?.handle ?? '-');
      say(`${state.padEnd(10)}${handle.padEnd(13)}${domain}`);
    }
    if (rows.length === 0 && after === '') say('No domain is registered.');
    if (rows.length < domainsAtOnce) return;
    after = rows.at(-1)?.domain ?? after;
  }
}

async function show(db: Queryable, domain: string, say: Tools['say']): Promise<void> {
  const { rows } = await db.query<MerchantRow>(`${select} WHERE m.domain = $1`, [domain]);
  const [row] = rows;
  const claimant = await findClaimant(db, { kind: 'domain', name: domain });
  const names = await namesOf(db, [row?.accountId ?? null, claimant?.accountId ?? null]);
  const handle = (id: bigint | null | undefined) => (id ? (names.get(id)?.handle ?? '-') : '-');
  const line = (name: string, value: string) => say(`${name.padEnd(14)}${value}`);
  line('domain', domain);
  line('state', row === undefined ? 'not registered: its site decides' : describeState(row));
  line('account', handle(row?.accountId));
  line('proved', row?.provedAt?.toISOString() ?? '-');
  line('orders to', row?.ordersUrl ?? '-');
  line('registered by', `${row?.claims ?? (await countClaims(db, domain))} accounts`);
  const dues = claimant === undefined ? [] : await listDues(db, claimant.id);
  for (const { chain, amount } of dues) line('owed', `${text(amount)} on ${chain}`);
  if (dues.length === 0) line('owed', 'nothing');
  if (claimant?.accountId) line('owed goes to', handle(claimant.accountId));
}

function describeState({ state, enabledBy, disabledBy }: MerchantRow): string {
  if (state === 'enabled') return `enabled by ${enabledBy === 'operator' ? 'the operator' : 'proof of the domain'}`;
  return `disabled by ${disabledBy === 'operator' ? 'the operator' : 'its owner, who gave it up'}`;
}

async function countClaims(db: Queryable, domain: string): Promise<number> {
  const { rows } = await db.query<{ count: number }>(
    'SELECT count(*)::integer AS count FROM merchant_claims WHERE domain = $1',
    [domain],
  );
  return rows[0]?.count ?? 0;
}

/** Uses the API's spelling. The address guard checks the host later, when a request is sent. */
function domainOrRefuse(given: string): string {
  const read = readWebsite(given, {
    explainRefusal: (url) => (parseUrl(url) === undefined ? 'The URL is not valid.' : undefined),
  });
  if (read.refusal !== undefined) throw new Refusal(`"${given}" ${read.refusal}.`);
  return read.name;
}

function ordersUrlOrRefuse(url: string | undefined): string | undefined {
  if (url === undefined || (/^https?:\/\//i.test(url) && parseUrl(url) !== undefined && url.length <= 2_048))
    return url;
  throw new Refusal('--orders-url must begin with https://.');
}

async function accountOrRefuse(db: Queryable, handle: string | undefined): Promise<bigint | undefined> {
  if (handle === undefined) return undefined;
  const account = await findAccount(db, { handle: handle.toUpperCase() });
  if (account === undefined) throw new Refusal(`No account has the handle "${handle}".`);
  return account.id;
}

function text(amount: Parameters<typeof toDecimalText>[0]): string {
  return `${toDecimalText(amount)} ${amount.asset}`;
}
