import type { z } from 'zod';
import type { Caller, Scope } from '../kernel/http/define-route.ts';
import type { ErrorKind } from '../kernel/http/problem.ts';
import type { Operation, Payment } from './consent.ts';

/** A payment that was asked for, before its policies are asked. */
export interface AskedPayment {
  readonly payment: Payment;
  /** What else the endpoint refuses, once the policies allow the payment: limits that are checked in its commit. */
  readonly refuseBeyondLimits?: () => Promise<void>;
}

/**
 * A way to pay: how the body of its endpoint becomes a payment. The endpoint and the simulation use the same, so that they
 * cannot disagree. Each feature declares its own, and src/app/ brings them together.
 */
export interface Way<Body extends z.ZodType = z.ZodType> {
  readonly operation: Operation;
  /** That the endpoint needs. */
  readonly scope: Scope;
  readonly body: Body;
  /** Of `read`. The endpoint declares them as well. */
  readonly refusals: readonly ErrorKind[];
  /** Everything up to the policies: input and recipient are checked, and refused as the endpoint refuses them. Nothing is written. */
  read(caller: Caller, request: z.output<Body>): Promise<AskedPayment>;
}
