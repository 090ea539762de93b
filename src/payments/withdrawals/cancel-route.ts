import { z } from 'zod';
import { defineRoute, ok, type Route } from '../../kernel/http/define-route.ts';
import type { Once } from '../../ledger/idempotency.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import { ledgerRefusals } from '../../ledger/refusals.ts';
import { describeWithdrawal, exampleWithdrawal, withdrawalRecord } from './answer.ts';
import { cancelWithdrawal } from './cancel-withdrawal.ts';
import { withdrawalErrors } from './errors.ts';

interface CancelParts {
  readonly once: Once;
  readonly ledger: Ledger;
}

export function cancelRoute({ once, ledger }: CancelParts): Route {
  return defineRoute(
    {
      id: 'cancelWithdrawal',
      method: 'POST',
      path: '/circle/withdrawals/:txId/cancel',
      tag: 'Withdrawals',
      summary: 'Cancel a withdrawal',
      description:
        'A withdrawal can be cancelled only before it is submitted: while it is `queued` or `awaiting_liquidity`, or `held` by the service-wide hourly limit. The whole amount, including the fee, returns to your balance immediately. A withdrawal that the operator is reviewing cannot be cancelled. Cancelling twice returns the cancelled withdrawal.',
      auth: 'key',
      scope: 'withdraw',
      params: z.strictObject({ txId: z.string().max(64) }),
      examples: { params: { txId: exampleWithdrawal.txId } },
      idempotent: true,
      returns: {
        200: {
          description: 'The cancelled withdrawal',
          schema: withdrawalRecord,
          example: { ...exampleWithdrawal, status: 'cancelled', txHash: null },
        },
      },
      errors: [
        withdrawalErrors.withdrawal_not_found,
        withdrawalErrors.withdrawal_not_cancellable,
        ledgerRefusals.account_frozen,
      ],
    },
    async ({ caller, params, idempotency, ip }) =>
      once({ caller, idempotency, kind: 'withdrawals' }, async (tx) => {
        const { accountId, keyId } = caller;
        const by = { keyId, address: ip };
        return ok(describeWithdrawal(await cancelWithdrawal(tx, ledger, { id: params.txId, accountId, by })));
      }),
  );
}
