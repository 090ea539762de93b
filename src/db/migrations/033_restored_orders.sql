-- When the operator said that the order comes from a backup that was put back. Since the backup its shop may have been asked, and may have
-- redeemed and taken it: the money goes back with the shop's word, or after the last deadline.
ALTER TABLE orders ADD COLUMN restored_at timestamptz;
