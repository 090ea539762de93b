import type { OnAccountClosing, UnderWayOf } from '../accounts/closing/on-account-closing.ts';

/** The country stays: it is no one's address. Orders that have not ended keep the account from being closed anyway. */
export const eraseAddressesOf: OnAccountClosing = async (tx, accountId) => {
  await tx.query(
    `UPDATE orders SET shipping_address = jsonb_build_object(
         'name', 'Erased', 'street', 'Erased', 'city', 'Erased', 'country', shipping_address -> 'country')
      WHERE account_id = $1 AND finished_at IS NOT NULL AND NOT shipping_address @> '{"name": "Erased", "street": "Erased"}'`,
    [accountId],
  );
};

/** Orders that others have placed with a shop of this account, and that may still be paid to it. */
export const openSalesOf: UnderWayOf = async (tx, accountId) => {
  const { rows } = await tx.query<{ id: string }>(
    'SELECT id FROM orders WHERE merchant_id = $1 AND finished_at IS NULL ORDER BY id LIMIT 100',
    [accountId],
  );
  return rows.map(({ id }) => ({ kind: 'sale', id }));
};
