const everything = ['SELECT', 'INSERT', 'UPDATE', 'DELETE'];

/** The only privileges of the service role when another role owns the tables. */
export function privilegesOn(schema: string, table: string): readonly string[] {
  // An unlisted table in the ledger schema may be the operator's own, such as the old table after partitioning.
  return exceptions[`${schema}.${table}`] ?? (schema === 'ledger' ? ['SELECT'] : everything);
}

const exceptions: Readonly<Record<string, readonly string[]>> = {
  // Postings are append-only.
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
  // The service may claim an empty database, but never change the claim.
  'public.deployment': ['SELECT', 'INSERT'],
};
