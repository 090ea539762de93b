import { accountClosing, underWay } from '../../accounts/closing/on-account-closing.ts';
import type { Database } from '../../kernel/db/database.ts';
import type { Feature } from '../../kernel/feature.ts';
import type { Outgoing } from '../../kernel/outgoing/outgoing.ts';
import type { Parser } from '../../kernel/parser/parser.ts';
import type { Secrets } from '../../kernel/secrets/secrets.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import { describeAgent } from '../search/agent.ts';
import { addMerchantCommands } from './commands.ts';
import { createFetchProof } from './fetch-proof.ts';
import { redeemLeftoversSchedule } from './redeem-domain.ts';
import { type MerchantParts, merchantRoutes } from './routes.ts';

interface MerchantServing extends Omit<MerchantParts, 'lookForProof'> {
  readonly outgoing: Outgoing;
  readonly parser: Parser;
  readonly publicUrl: () => string;
}

export const merchants: Feature<{
  serving: MerchantServing;
  working: { readonly db: Database; readonly ledger: Ledger };
  commands: { readonly db: Database; readonly ledger: Ledger; readonly secrets: Secrets };
}> = {
  name: 'merchants',
  hooks: [
    accountClosing.on(async (tx, accountId) => {
      await tx.query('DELETE FROM merchant_claims WHERE account_id = $1', [accountId]);
    }),
    underWay.on(async (tx, accountId) => {
      const { rows } = await tx.query<{ id: string }>('SELECT domain AS id FROM merchants WHERE account_id = $1', [
        accountId,
      ]);
      return rows.map(({ id }) => ({ kind: 'domain', id }));
    }),
  ],
  sealed: [
    {
      purpose: 'merchant-orders',
      columns: [
        { table: 'merchants', key: ['domain'], column: 'sealed_orders_secret' },
        { table: 'merchant_claims', key: ['domain', 'account_id'], column: 'sealed_orders_secret' },
        { table: 'order_secrets', key: ['order_id'], column: 'sealed' },
      ],
    },
  ],
  chapters: [{ name: 'Merchants', description: 'Register your shop’s domain to receive orders and payments.' }],
  commands: (program, tools) => addMerchantCommands(program, tools),
  routes({ db, readDb, once, ledger, secrets, outgoing, parser, publicUrl }) {
    const lookForProof = createFetchProof({ outgoing, parser }, () => describeAgent(publicUrl()).userAgent);
    return merchantRoutes({ db, readDb, once, ledger, secrets, outgoing, lookForProof });
  },
  schedules: ({ db, ledger }) => [redeemLeftoversSchedule(db, ledger)],
};
