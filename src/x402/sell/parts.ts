import type { Screening } from '../../custody/limits/screening.ts';
import type { Clock } from '../../kernel/clock.ts';
import type { Checkpoint } from '../../kernel/sagas/checkpoint.ts';
import type { Once } from '../../ledger/idempotency.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import type { CallParts } from './calls.ts';
import type { Claimed, NewClaim } from './claim-payments.ts';
import type { Facilitator } from './facilitator.ts';
import type { ServedCall } from './serve-calls.ts';
import type { Till } from './till.ts';

interface SellingRules {
  /** The credit limit of one payer. */
  readonly mostCredit: bigint;
  /** How long a payment must still be valid. */
  readonly leastSecondsLeft: bigint;
  /** Paid requests a minute per payer; 0 means unlimited. */
  readonly payerPerMinute: number;
}

export interface SellingParts extends CallParts {
  readonly ledger: Ledger;
  readonly once: Once;
  readonly till: Till;
  readonly claim: (claim: NewClaim) => Promise<Claimed>;
  readonly serve: (call: ServedCall) => Promise<boolean>;
  /** While settling is late, nothing is served on credit. */
  readonly isOverdue: () => Promise<boolean>;
  readonly screening: Screening;
  /** Set when an external facilitator verifies and submits payments. */
  readonly facilitator: Facilitator | undefined;
  readonly rules: SellingRules;
  readonly clock: Clock;
  readonly checkpoint: Checkpoint;
}
