/** What the service's own role may do with each table, when another role owns them. Nothing beside it. */
export function privilegesOn(schema: string, table: string): readonly string[] {
  return exceptions[`${schema}.${table}`] ?? ['SELECT', 'INSERT', 'UPDATE', 'DELETE'];
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
  'public.audit_log': ['SELECT', 'INSERT'],
  'public.schema_migrations': ['SELECT'],
  // It may claim an empty database, and never change its mind.
  'public.deployment': ['SELECT', 'INSERT'],
};
