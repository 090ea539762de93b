import { z } from 'zod';

/**
 * An archived month is a gzip file of JSON lines: a header, the opening balances, the postings in order of time, the
 * closing balances, and a footer with the sums. Amounts are decimal texts, times are UTC with microseconds, and accounts
 * are their numbers in the ledger.
 */
export const archiveFormat = 'paywright-ledger-month/1';

const time = z.string().regex(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/, 'is not a time');
const atomic = z.string().regex(/^-?\d{1,80}$/, 'is not a whole amount');
const account = z.int();
const digest = z.string().regex(/^[0-9a-f]{64}$/, 'is not a SHA-256');

const header = z.strictObject({
  format: z.literal(archiveFormat),
  month: z.string(),
  /** Null for the first month, which begins with the ledger. */
  from: time.nullable(),
  to: time,
  /** The SHA-256 of the file of the month before. Null for the first one. */
  previous: digest.nullable(),
});

/** The account, its balance, and the time of its last entry. */
const balance = z.tuple([account, atomic, time]);

/** A posting with all its columns. One with a payer has no further entries: the payer, the payee and the fee are its entries. */
const posting = z.strictObject({
  id: z.string(),
  at: time,
  type: z.string(),
  sender: z.int().nullable(),
  recipient: z.int().nullable(),
  asset: z.int(),
  amount: atomic,
  fee: atomic,
  description: z.string().nullable(),
  reference: z.string().nullable(),
  details: z.unknown(),
  payer: account.nullable(),
  payee: account.nullable(),
  feeTo: account.nullable(),
  payerAfter: atomic.nullable(),
  payeeAfter: atomic.nullable(),
  feeAfter: atomic.nullable(),
  /** The account, its change, and its balance afterwards. */
  entries: z.array(z.tuple([account, atomic, atomic])),
});

const footer = z.strictObject({
  postings: z.int(),
  entries: z.int(),
  accounts: z.int(),
  /** Of all lines before this one. */
  sha256: digest,
});

const archiveLine = z.union([
  z.strictObject({ posting }),
  z.strictObject({ opening: balance }),
  z.strictObject({ closing: balance }),
  z.strictObject({ header }),
  z.strictObject({ footer }),
]);

export type ArchiveLine = z.infer<typeof archiveLine>;
export type ArchiveHeader = z.infer<typeof header>;
export type ArchivedPosting = z.infer<typeof posting>;
export type ArchiveFooter = z.infer<typeof footer>;
export type ArchivedBalance = z.infer<typeof balance>;

/** Undefined when it is not a line of an archive. */
export function parseLine(line: Buffer): ArchiveLine | undefined {
  try {
    return archiveLine.safeParse(JSON.parse(line.toString('utf8'))).data;
  } catch {
    return undefined;
  }
}

export interface ArchivedEntry {
  readonly account: number;
  readonly amount: bigint;
  readonly after: bigint;
}

/** What a posting did to each of its accounts, as the view ledger.entries shows it. */
export function entriesOf(posting: ArchivedPosting): readonly ArchivedEntry[] {
  const { payer, payee, feeTo, amount, fee } = posting;
  const legs = [
    { account: payer, amount: -BigInt(amount), after: posting.payerAfter },
    { account: payee, amount: BigInt(amount) - BigInt(fee), after: posting.payeeAfter },
    { account: feeTo, amount: BigInt(fee), after: posting.feeAfter },
  ];
  return [
    ...legs.flatMap((leg) =>
      leg.account === null ? [] : [{ ...leg, account: leg.account, after: BigInt(leg.after ?? 0) }],
    ),
    ...posting.entries.map(([account, change, after]) => ({ account, amount: BigInt(change), after: BigInt(after) })),
  ];
}
