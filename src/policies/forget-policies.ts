import type { OnAccountClosing } from '../accounts/closing/on-account-closing.ts';

/** Policies and the list of whom an account has paid name other people. What was spent stays in the ledger. */
export const forgetPolicies: OnAccountClosing = async (tx, accountId) => {
  await tx.query('DELETE FROM key_policies WHERE account_id = $1', [accountId]);
  await tx.query('DELETE FROM approvals WHERE account_id = $1', [accountId]);
  await tx.query('DELETE FROM paid_accounts WHERE account_id = $1', [accountId]);
  await tx.query('DELETE FROM paid_cursors WHERE account_id = $1', [accountId]);
};
