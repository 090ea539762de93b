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

/** How far payers are trusted, and for how long they are waited for. */
interface SellingRules {
  /** What one payer may be served before it has arrived. */
  readonly mostCredit: bigint;
  /** For so long at least a payment must still be valid. */
  readonly leastSecondsLeft: bigint;
  /** Requests a minute of one payer; 0 is unlimited. */
  readonly payerPerMinute: number;
}

/** What calls are sold with. */
export interface SellingParts extends CallParts {
  readonly ledger: Ledger;
  readonly once: Once;
  readonly till: Till;
  readonly claim: (claim: NewClaim) => Promise<Claimed>;
  readonly serve: (call: ServedCall) => Promise<boolean>;
  /** Whether payments for what was served wait for too long: then nothing more is served on credit. */
  readonly isOverdue: () => Promise<boolean>;
  readonly screening: Screening;
  /** Only where somebody else checks and submits payments. */
  readonly facilitator: Facilitator | undefined;
  readonly rules: SellingRules;
  readonly clock: Clock;
  readonly checkpoint: Checkpoint;
}
