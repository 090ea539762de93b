const everything = ['SELECT', 'INSERT', 'UPDATE', 'DELETE'];

/** What the service's own role may do with each table, when another role owns them. Nothing beside it. */
export function privilegesOn(schema: string, table: string): readonly string[] {
  // A table of the ledger that this list does not know may be an operator's: the whole of one that was partitioned since.
  return exceptions[`${schema}.${table}`] ?? (schema === 'ledger' ? ['SELECT'] : everything);
}

const exceptions: Readonly<Record<string, readonly string[]>> = {
  // What was posted stays as it is; there is no way to say otherwise.
  'ledger.postings': ['SELECT', 'INSERT'],
  'ledger.posting_references': ['SELECT', 'INSERT'],
  'ledger.entries': ['SELECT', 'INSERT'],
  'ledger.accounts': ['SELECT', 'INSERT', 'UPDATE (balance, posted_at)'],
  'ledger.assets': ['SELECT'],
  'ledger.chains': ['SELECT'],
  'ledger.kinds': ['SELECT'],
  'ledger.idempotency_keys': everything,
  'ledger.event_subscriptions': everything,
  'ledger.events': everything,
  'public.audit_log': ['SELECT', 'INSERT'],
  'public.schema_migrations': ['SELECT'],
  // It may claim an empty database, and never change its mind.
  'public.deployment': ['SELECT', 'INSERT'],
};
